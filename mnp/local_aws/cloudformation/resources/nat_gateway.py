"""AWS::EC2::EIP and NatGateway."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification


class ElasticIp(Resource):
    type_name = "AWS::EC2::EIP"
    replaced_by = frozenset({"Domain", "NetworkBorderGroup"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        tags = tag_specification(context, "elastic-ip", properties)
        return str(context.call("ec2", "AllocateAddress", {}, Domain="vpc", **tags)["PublicIp"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        public_ip = resource.physical_resource_id
        address = context.call("ec2", "DescribeAddresses", {}, PublicIps=[public_ip])["Addresses"][0]
        return {"AllocationId": address["AllocationId"], "PublicIp": public_ip}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        retag(context, resource.attributes["AllocationId"], resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "ReleaseAddress", {}, AllocationId=resource.attributes["AllocationId"])


class NatGateway(Resource):
    type_name = "AWS::EC2::NatGateway"
    replaced_by = frozenset({"AllocationId", "ConnectivityType", "PrivateIpAddress", "SubnetId"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "AllocationId", "ConnectivityType", "SubnetId")
        tags = tag_specification(context, "natgateway", properties)
        return str(context.call("ec2", "CreateNatGateway", wanted, **tags)["NatGateway"]["NatGatewayId"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"NatGatewayId": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        retag(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteNatGateway", {}, NatGatewayId=resource.physical_resource_id)
