"""AWS::EC2::VPCEndpoint, gateway and interface."""

from __future__ import annotations

import json
from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, missing, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification

_IN_PLACE = ("PolicyDocument", "PrivateDnsEnabled", "RouteTableIds", "SecurityGroupIds", "SubnetIds")


class VpcEndpoint(Resource):
    type_name = "AWS::EC2::VPCEndpoint"
    replaced_by = frozenset({"ServiceName", "VpcEndpointType", "VpcId"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = self._parameters(properties, "ServiceName", "VpcEndpointType", "VpcId", *_IN_PLACE)
        tags = tag_specification(context, "vpc-endpoint", properties)
        return str(context.call("ec2", "CreateVpcEndpoint", wanted, **tags)["VpcEndpoint"]["VpcEndpointId"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        endpoint_id = resource.physical_resource_id
        answer = context.call("ec2", "DescribeVpcEndpoints", {}, VpcEndpointIds=[endpoint_id])
        endpoint = answer["VpcEndpoints"][0]
        names = [f"{e.get('HostedZoneId', '')}:{e['DnsName']}" for e in endpoint.get("DnsEntries", [])]
        return {
            "Id": endpoint_id,
            "CreationTimestamp": str(endpoint["CreationTimestamp"]),
            "DnsEntries": names,
            "NetworkInterfaceIds": endpoint.get("NetworkInterfaceIds", []),
        }

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        wanted = self._parameters(properties, "PolicyDocument", "PrivateDnsEnabled")
        for names, added, removed in (
            ("RouteTableIds", "AddRouteTableIds", "RemoveRouteTableIds"),
            ("SecurityGroupIds", "AddSecurityGroupIds", "RemoveSecurityGroupIds"),
            ("SubnetIds", "AddSubnetIds", "RemoveSubnetIds"),
        ):
            old, new = resource.properties.get(names, []), properties.get(names, [])
            wanted[added] = list(missing(new, old))
            wanted[removed] = list(missing(old, new))
        endpoint_id = resource.physical_resource_id
        wanted = {name: value for name, value in wanted.items() if value != []}
        context.call("ec2", "ModifyVpcEndpoint", wanted, VpcEndpointId=endpoint_id)
        retag(context, endpoint_id, resource.properties, properties)
        return endpoint_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteVpcEndpoints", {}, VpcEndpointIds=[resource.physical_resource_id])

    def _parameters(self, properties: dict[str, Any], *names: str) -> dict[str, Any]:
        wanted = pick(properties, *names)
        if isinstance(wanted.get("PolicyDocument"), dict):
            wanted["PolicyDocument"] = json.dumps(wanted["PolicyDocument"])
        return wanted
