"""AWS::SSM::Parameter."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, without


class Parameter(Resource):
    type_name = "AWS::SSM::Parameter"
    replaced_by = frozenset({"Name"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        name = str(properties.get("Name") or context.generated_name())
        self._put(context, name, properties, overwrite=False)
        tags = context.tags(properties)
        if tags:
            context.call("ssm", "AddTagsToResource", {}, ResourceType="Parameter", ResourceId=name, Tags=tags)
        return name

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        name = resource.physical_resource_id
        parameter = context.call("ssm", "GetParameter", {}, Name=name)["Parameter"]
        return {"Type": parameter["Type"], "Value": parameter["Value"]}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._put(context, resource.physical_resource_id, properties, overwrite=True)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ssm", "DeleteParameter", {}, Name=resource.physical_resource_id)

    def _put(self, context: Context, name: str, properties: dict[str, Any], *, overwrite: bool) -> None:
        # In a template tags are a map; the API takes them apart from the value once the parameter exists.
        wanted = without(properties, "Name", "Tags")
        context.call("ssm", "PutParameter", wanted, Name=name, Overwrite=overwrite)
