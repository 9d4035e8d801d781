"""AWS::EC2::RouteTable, Route and SubnetRouteTableAssociation."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification

_TARGETS = (
    "CarrierGatewayId",
    "EgressOnlyInternetGatewayId",
    "GatewayId",
    "InstanceId",
    "NatGatewayId",
    "NetworkInterfaceId",
    "TransitGatewayId",
    "VpcEndpointId",
    "VpcPeeringConnectionId",
)
_DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")


class RouteTable(Resource):
    type_name = "AWS::EC2::RouteTable"
    replaced_by = frozenset({"VpcId"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        tags = tag_specification(context, "route-table", properties)
        answer = context.call("ec2", "CreateRouteTable", pick(properties, "VpcId"), **tags)
        return str(answer["RouteTable"]["RouteTableId"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"RouteTableId": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        retag(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteRouteTable", {}, RouteTableId=resource.physical_resource_id)


class Route(Resource):
    type_name = "AWS::EC2::Route"
    replaced_by = frozenset({"RouteTableId", *_DESTINATIONS})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        context.call("ec2", "CreateRoute", pick(properties, "RouteTableId", *_DESTINATIONS, *_TARGETS))
        return f"{properties['RouteTableId']}|{self._destination(properties)}"

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"CidrBlock": self._destination(resource.properties)}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        context.call("ec2", "ReplaceRoute", pick(properties, "RouteTableId", *_DESTINATIONS, *_TARGETS))
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteRoute", pick(resource.properties, "RouteTableId", *_DESTINATIONS))

    def _destination(self, properties: dict[str, Any]) -> str:
        return str(next(iter(pick(properties, *_DESTINATIONS).values())))


class SubnetRouteTableAssociation(Resource):
    type_name = "AWS::EC2::SubnetRouteTableAssociation"
    replaced_by = frozenset({"SubnetId"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "RouteTableId", "SubnetId")
        return str(context.call("ec2", "AssociateRouteTable", wanted)["AssociationId"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"Id": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        answer = context.call(
            "ec2",
            "ReplaceRouteTableAssociation",
            pick(properties, "RouteTableId"),
            AssociationId=resource.physical_resource_id,
        )
        return str(answer["NewAssociationId"])

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DisassociateRouteTable", {}, AssociationId=resource.physical_resource_id)
