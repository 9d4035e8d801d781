"""AWS::EC2::PlacementGroup."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification


class PlacementGroup(Resource):
    type_name = "AWS::EC2::PlacementGroup"
    replaced_by = frozenset({"PartitionCount", "SpreadLevel", "Strategy"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "PartitionCount", "SpreadLevel", "Strategy")
        name = context.generated_name()
        tags = tag_specification(context, "placement-group", properties)
        context.call("ec2", "CreatePlacementGroup", wanted, GroupName=name, **tags)
        return name

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        name = resource.physical_resource_id
        answer = context.call("ec2", "DescribePlacementGroups", {}, GroupNames=[name])
        return {"GroupName": name, "GroupId": answer["PlacementGroups"][0]["GroupId"]}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        retag(context, resource.attributes["GroupId"], resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeletePlacementGroup", {}, GroupName=resource.physical_resource_id)
