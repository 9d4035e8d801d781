"""AWS::EC2::SecurityGroup, SecurityGroupIngress and SecurityGroupEgress."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, missing, pick
from mnp.local_aws.cloudformation.resources.tags import retag, tag_specification

_ALLOW_ALL = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
_INGRESS = ("AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress")
_EGRESS = ("AuthorizeSecurityGroupEgress", "RevokeSecurityGroupEgress")


def permission(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a template's rule as the API's IpPermission."""
    result: dict[str, Any] = pick(rule, "IpProtocol", "FromPort", "ToPort")
    note = pick(rule, "Description")
    group = rule.get("SourceSecurityGroupId") or rule.get("DestinationSecurityGroupId")
    prefix_list = rule.get("SourcePrefixListId") or rule.get("DestinationPrefixListId")
    if group:
        result["UserIdGroupPairs"] = [{"GroupId": group, **note}]
    if prefix_list:
        result["PrefixListIds"] = [{"PrefixListId": prefix_list, **note}]
    if "CidrIp" in rule:
        result["IpRanges"] = [{"CidrIp": rule["CidrIp"], **note}]
    if "CidrIpv6" in rule:
        result["Ipv6Ranges"] = [{"CidrIpv6": rule["CidrIpv6"], **note}]
    return result


def _change(context: Context, operation: str, group_id: str, rule: dict[str, Any]) -> dict[str, Any]:
    wanted = {"IpPermissions": [permission(rule)]}
    return context.call("ec2", operation, wanted, GroupId=group_id)


class SecurityGroup(Resource):
    type_name = "AWS::EC2::SecurityGroup"
    replaced_by = frozenset({"GroupDescription", "GroupName", "VpcId"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        group_id = str(
            context.call(
                "ec2",
                "CreateSecurityGroup",
                pick(properties, "VpcId"),
                GroupName=properties.get("GroupName") or context.generated_name(),
                Description=properties["GroupDescription"],
                **tag_specification(context, "security-group", properties),
            )["GroupId"]
        )
        self._change_rules(context, group_id, {}, properties)
        return group_id

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        group_id = resource.physical_resource_id
        group = context.call("ec2", "DescribeSecurityGroups", {}, GroupIds=[group_id])["SecurityGroups"][0]
        return {"GroupId": group_id, "Id": group_id, "VpcId": group.get("VpcId")}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._change_rules(context, resource.physical_resource_id, resource.properties, properties)
        retag(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteSecurityGroup", {}, GroupId=resource.physical_resource_id)

    def _change_rules(self, context: Context, group_id: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        # EC2 gives a new group a rule that lets everything out; naming any egress rule takes its place.
        for name, (authorize, revoke), default in (
            ("SecurityGroupIngress", _INGRESS, []),
            ("SecurityGroupEgress", _EGRESS, [_ALLOW_ALL]),
        ):
            before, after = old.get(name) or default, new.get(name) or default
            for rule in missing(before, after):
                _change(context, revoke, group_id, rule)
            for rule in missing(after, before):
                _change(context, authorize, group_id, rule)


class _Rule(Resource):
    """One rule of a group that stands elsewhere."""

    operations: tuple[str, str]
    replaced_by = frozenset(
        {
            "CidrIp",
            "CidrIpv6",
            "DestinationPrefixListId",
            "DestinationSecurityGroupId",
            "FromPort",
            "GroupId",
            "IpProtocol",
            "SourcePrefixListId",
            "SourceSecurityGroupId",
            "ToPort",
        }
    )

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        answer = _change(context, self.operations[0], properties["GroupId"], properties)
        return str(answer["SecurityGroupRules"][0]["SecurityGroupRuleId"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"Id": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        # Only the description can differ here, and moto keeps none with a rule.
        del context, properties
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        _change(context, self.operations[1], resource.properties["GroupId"], resource.properties)


class SecurityGroupIngress(_Rule):
    type_name = "AWS::EC2::SecurityGroupIngress"
    operations = _INGRESS


class SecurityGroupEgress(_Rule):
    type_name = "AWS::EC2::SecurityGroupEgress"
    operations = _EGRESS
