"""AWS::Logs::LogGroup."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick


class LogGroup(Resource):
    type_name = "AWS::Logs::LogGroup"
    replaced_by = frozenset({"LogGroupName"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        name = str(properties.get("LogGroupName") or context.generated_name())
        tags = {tag["Key"]: tag["Value"] for tag in context.tags(properties)}
        wanted = pick(properties, "KmsKeyId")
        context.call("logs", "CreateLogGroup", wanted, logGroupName=name, **({"tags": tags} if tags else {}))
        self._set_retention(context, name, properties)
        return name

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        name = resource.physical_resource_id
        return {"Arn": f"arn:{context.partition}:logs:{context.region}:{context.account}:log-group:{name}:*"}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._set_retention(context, resource.physical_resource_id, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("logs", "DeleteLogGroup", {}, logGroupName=resource.physical_resource_id)

    def _set_retention(self, context: Context, name: str, properties: dict[str, Any]) -> None:
        wanted = pick(properties, "RetentionInDays")
        operation = "PutRetentionPolicy" if wanted else "DeleteRetentionPolicy"
        context.call("logs", operation, wanted, logGroupName=name)
