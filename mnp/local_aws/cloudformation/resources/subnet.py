"""AWS::EC2::Subnet."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification


class Subnet(Resource):
    type_name = "AWS::EC2::Subnet"
    replaced_by = frozenset({"AvailabilityZone", "AvailabilityZoneId", "CidrBlock", "Ipv6CidrBlock", "VpcId"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, *self.replaced_by)
        tags = tag_specification(context, "subnet", properties)
        subnet_id = str(context.call("ec2", "CreateSubnet", wanted, **tags)["Subnet"]["SubnetId"])
        self._set_public_ip(context, subnet_id, properties)
        return subnet_id

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        subnet_id = resource.physical_resource_id
        subnet = context.call("ec2", "DescribeSubnets", {}, SubnetIds=[subnet_id])["Subnets"][0]
        of_subnet = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
        acls = context.call("ec2", "DescribeNetworkAcls", {}, Filters=of_subnet)["NetworkAcls"]
        associations = [a for acl in acls for a in acl["Associations"] if a["SubnetId"] == subnet_id]
        return {
            "SubnetId": subnet_id,
            "AvailabilityZone": subnet["AvailabilityZone"],
            "AvailabilityZoneId": subnet["AvailabilityZoneId"],
            "CidrBlock": subnet["CidrBlock"],
            "Ipv6CidrBlocks": [a["Ipv6CidrBlock"] for a in subnet.get("Ipv6CidrBlockAssociationSet", [])],
            "NetworkAclAssociationId": associations[0]["NetworkAclAssociationId"],
            "VpcId": subnet["VpcId"],
        }

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._set_public_ip(context, resource.physical_resource_id, properties)
        retag(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteSubnet", {}, SubnetId=resource.physical_resource_id)

    def _set_public_ip(self, context: Context, subnet_id: str, properties: dict[str, Any]) -> None:
        wanted = {"MapPublicIpOnLaunch": {"Value": properties.get("MapPublicIpOnLaunch", False)}}
        context.call("ec2", "ModifySubnetAttribute", wanted, SubnetId=subnet_id)
