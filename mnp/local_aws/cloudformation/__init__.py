"""CloudFormation: the stack life cycle, and one handler per resource type.

moto parses the requests, keeps the change sets and writes the answers. What a stack *does* is ours: a handler creates,
updates and deletes its resource through the service's public API, as CloudFormation itself does, so a stack holds
exactly what the API calls made. Types without a handler fall back on moto's own model; types with neither are refused.
"""
