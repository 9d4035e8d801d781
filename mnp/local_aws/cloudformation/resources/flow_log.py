"""AWS::EC2::FlowLog."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.errors import ResourceError
from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification


class FlowLog(Resource):
    type_name = "AWS::EC2::FlowLog"
    replaced_by = frozenset(
        {
            "DeliverLogsPermissionArn",
            "LogDestination",
            "LogDestinationType",
            "LogFormat",
            "LogGroupName",
            "MaxAggregationInterval",
            "ResourceId",
            "ResourceType",
            "TrafficType",
        }
    )

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, *self.replaced_by - {"ResourceId"})
        tags = tag_specification(context, "vpc-flow-log", properties)
        answer = context.call("ec2", "CreateFlowLogs", wanted, ResourceIds=[properties["ResourceId"]], **tags)
        if answer.get("Unsuccessful"):
            raise ResourceError(answer["Unsuccessful"][0]["Error"]["Message"])
        return str(answer["FlowLogIds"][0])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"Id": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        retag(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteFlowLogs", {}, FlowLogIds=[resource.physical_resource_id])
