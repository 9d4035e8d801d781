"""AWS::EC2::VPC, InternetGateway and VPCGatewayAttachment."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification


class Vpc(Resource):
    type_name = "AWS::EC2::VPC"
    replaced_by = frozenset({"CidrBlock", "Ipv4IpamPoolId", "Ipv4NetmaskLength"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "CidrBlock", "InstanceTenancy", "Ipv4IpamPoolId", "Ipv4NetmaskLength")
        tags = tag_specification(context, "vpc", properties)
        vpc_id = str(context.call("ec2", "CreateVpc", wanted, **tags)["Vpc"]["VpcId"])
        self._set_dns(context, vpc_id, properties)
        return vpc_id

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        vpc_id = resource.physical_resource_id
        vpc = context.call("ec2", "DescribeVpcs", {}, VpcIds=[vpc_id])["Vpcs"][0]
        in_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
        named_default = [*in_vpc, {"Name": "group-name", "Values": ["default"]}]
        groups = context.call("ec2", "DescribeSecurityGroups", {}, Filters=named_default)["SecurityGroups"]
        acls = context.call("ec2", "DescribeNetworkAcls", {}, Filters=in_vpc)["NetworkAcls"]
        return {
            "VpcId": vpc_id,
            "CidrBlock": vpc["CidrBlock"],
            "CidrBlockAssociations": [a["AssociationId"] for a in vpc.get("CidrBlockAssociationSet", [])],
            "Ipv6CidrBlocks": [a["Ipv6CidrBlock"] for a in vpc.get("Ipv6CidrBlockAssociationSet", [])],
            "DefaultSecurityGroup": groups[0]["GroupId"],
            "DefaultNetworkAcl": next(acl["NetworkAclId"] for acl in acls if acl["IsDefault"]),
        }

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._set_dns(context, resource.physical_resource_id, properties)
        retag(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteVpc", {}, VpcId=resource.physical_resource_id)

    def _set_dns(self, context: Context, vpc_id: str, properties: dict[str, Any]) -> None:
        defaults = {"EnableDnsSupport": True, "EnableDnsHostnames": False}
        for name, value in {**defaults, **pick(properties, *defaults)}.items():
            context.call("ec2", "ModifyVpcAttribute", {name: {"Value": value}}, VpcId=vpc_id)


class InternetGateway(Resource):
    type_name = "AWS::EC2::InternetGateway"

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        tags = tag_specification(context, "internet-gateway", properties)
        answer = context.call("ec2", "CreateInternetGateway", {}, **tags)
        return str(answer["InternetGateway"]["InternetGatewayId"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"InternetGatewayId": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        retag(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteInternetGateway", {}, InternetGatewayId=resource.physical_resource_id)


class VpcGatewayAttachment(Resource):
    type_name = "AWS::EC2::VPCGatewayAttachment"
    replaced_by = frozenset({"VpcId", "InternetGatewayId"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        context.call("ec2", "AttachInternetGateway", pick(properties, "InternetGatewayId", "VpcId"))
        return f"IGW|{properties['VpcId']}"

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context, resource
        return {"AttachmentType": "IGW"}

    def delete(self, context: Context, resource: StackResource) -> None:
        wanted = pick(resource.properties, "InternetGatewayId", "VpcId")
        context.call("ec2", "DetachInternetGateway", wanted)
