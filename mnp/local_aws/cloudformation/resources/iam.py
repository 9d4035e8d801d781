"""AWS::IAM::Role, Policy, ManagedPolicy and InstanceProfile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, missing, pick

if TYPE_CHECKING:
    from collections.abc import Callable


def _tags(context: Context, properties: dict[str, Any]) -> dict[str, Any]:
    tags = context.tags(properties)
    return {"Tags": tags} if tags else {}


class Role(Resource):
    type_name = "AWS::IAM::Role"
    replaced_by = frozenset({"Path", "RoleName"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "Description", "MaxSessionDuration", "Path", "PermissionsBoundary")
        name = str(properties.get("RoleName") or context.generated_name(limit=64))
        trust = json.dumps(properties["AssumeRolePolicyDocument"])
        context.call(
            "iam",
            "CreateRole",
            wanted,
            RoleName=name,
            AssumeRolePolicyDocument=trust,
            **_tags(context, properties),
        )
        self._change_policies(context, name, {}, properties)
        return name

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        role = context.call("iam", "GetRole", {}, RoleName=resource.physical_resource_id)["Role"]
        return {"Arn": role["Arn"], "RoleId": role["RoleId"]}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        name = resource.physical_resource_id
        trust = json.dumps(properties["AssumeRolePolicyDocument"])
        context.call("iam", "UpdateAssumeRolePolicy", {}, RoleName=name, PolicyDocument=trust)
        wanted = pick(properties, "Description", "MaxSessionDuration")
        context.call("iam", "UpdateRole", wanted, RoleName=name)
        self._change_policies(context, name, resource.properties, properties)
        return name

    def delete(self, context: Context, resource: StackResource) -> None:
        name = resource.physical_resource_id
        self._change_policies(context, name, resource.properties, {})
        context.call("iam", "DeleteRole", {}, RoleName=name)

    def _change_policies(self, context: Context, name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        before, after = old.get("ManagedPolicyArns", []), new.get("ManagedPolicyArns", [])
        for arn in missing(before, after):
            context.call("iam", "DetachRolePolicy", {}, RoleName=name, PolicyArn=arn)
        for arn in missing(after, before):
            context.call("iam", "AttachRolePolicy", {}, RoleName=name, PolicyArn=arn)
        inline = {policy["PolicyName"]: policy["PolicyDocument"] for policy in new.get("Policies", [])}
        for policy in old.get("Policies", []):
            if policy["PolicyName"] not in inline:
                context.call("iam", "DeleteRolePolicy", {}, RoleName=name, PolicyName=policy["PolicyName"])
        for policy_name, document in inline.items():
            text = json.dumps(document)
            context.call("iam", "PutRolePolicy", {}, RoleName=name, PolicyName=policy_name, PolicyDocument=text)


# What a policy can be attached to: property, and the parameter that names one of them in each operation.
_HOLDERS = {"Groups": ("Group", "GroupName"), "Roles": ("Role", "RoleName"), "Users": ("User", "UserName")}


def _for_each_holder(properties: dict[str, Any], action: Callable[[str, dict[str, str]], object]) -> None:
    for holders, (kind, parameter) in _HOLDERS.items():
        for name in properties.get(holders, []):
            action(kind, {parameter: name})


class Policy(Resource):
    """An inline policy of roles, users and groups."""

    type_name = "AWS::IAM::Policy"
    replaced_by = frozenset({"PolicyName"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        self._put(context, properties)
        return str(properties["PolicyName"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"Id": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        gone = {
            holders: list(missing(resource.properties.get(holders, []), properties.get(holders, [])))
            for holders in _HOLDERS
        }
        self._remove(context, {**gone, "PolicyName": resource.physical_resource_id})
        self._put(context, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        self._remove(context, resource.properties)

    def _put(self, context: Context, properties: dict[str, Any]) -> None:
        text, name = json.dumps(properties["PolicyDocument"]), properties["PolicyName"]
        _for_each_holder(
            properties,
            lambda kind, holder: context.call(
                "iam", f"Put{kind}Policy", {}, **holder, PolicyName=name, PolicyDocument=text
            ),
        )

    def _remove(self, context: Context, properties: dict[str, Any]) -> None:
        name = properties["PolicyName"]
        _for_each_holder(
            properties,
            lambda kind, holder: context.call("iam", f"Delete{kind}Policy", {}, **holder, PolicyName=name),
        )


class ManagedPolicy(Resource):
    type_name = "AWS::IAM::ManagedPolicy"
    replaced_by = frozenset({"Description", "ManagedPolicyName", "Path"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "Description", "Path")
        name = properties.get("ManagedPolicyName") or context.generated_name(limit=128)
        text = json.dumps(properties["PolicyDocument"])
        answer = context.call("iam", "CreatePolicy", wanted, PolicyName=name, PolicyDocument=text)
        arn = str(answer["Policy"]["Arn"])
        self._attach(context, arn, {}, properties)
        return arn

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        policy = context.call("iam", "GetPolicy", {}, PolicyArn=resource.physical_resource_id)["Policy"]
        return {
            "PolicyArn": policy["Arn"],
            "PolicyId": policy["PolicyId"],
            "DefaultVersionId": policy["DefaultVersionId"],
            "AttachmentCount": policy["AttachmentCount"],
        }

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        arn = resource.physical_resource_id
        if "PolicyDocument" in resource.change(properties):
            text = json.dumps(properties["PolicyDocument"])
            context.call("iam", "CreatePolicyVersion", {}, PolicyArn=arn, PolicyDocument=text, SetAsDefault=True)
            self._delete_old_versions(context, arn)
        self._attach(context, arn, resource.properties, properties)
        return arn

    def delete(self, context: Context, resource: StackResource) -> None:
        self._attach(context, resource.physical_resource_id, resource.properties, {})
        context.call("iam", "DeletePolicy", {}, PolicyArn=resource.physical_resource_id)

    def _attach(self, context: Context, arn: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        for first, second, verb in ((old, new, "Detach"), (new, old, "Attach")):
            changed = {h: list(missing(first.get(h, []), second.get(h, []))) for h in _HOLDERS}
            for holders, (kind, parameter) in _HOLDERS.items():
                for name in changed[holders]:
                    context.call("iam", f"{verb}{kind}Policy", {}, **{parameter: name}, PolicyArn=arn)

    def _delete_old_versions(self, context: Context, arn: str) -> None:
        versions = context.call("iam", "ListPolicyVersions", {}, PolicyArn=arn)["Versions"]
        for version in versions:
            if not version["IsDefaultVersion"]:
                context.call("iam", "DeletePolicyVersion", {}, PolicyArn=arn, VersionId=version["VersionId"])


class InstanceProfile(Resource):
    type_name = "AWS::IAM::InstanceProfile"
    replaced_by = frozenset({"InstanceProfileName", "Path"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        name = str(properties.get("InstanceProfileName") or context.generated_name(limit=128))
        wanted = pick(properties, "Path")
        context.call("iam", "CreateInstanceProfile", wanted, InstanceProfileName=name)
        self._set_roles(context, name, {}, properties)
        return name

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        name = resource.physical_resource_id
        answer = context.call("iam", "GetInstanceProfile", {}, InstanceProfileName=name)
        return {"Arn": answer["InstanceProfile"]["Arn"]}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._set_roles(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        name = resource.physical_resource_id
        self._set_roles(context, name, resource.properties, {})
        context.call("iam", "DeleteInstanceProfile", {}, InstanceProfileName=name)

    def _set_roles(self, context: Context, name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        before, after = old.get("Roles", []), new.get("Roles", [])
        for verb, roles in (("RemoveRoleFrom", missing(before, after)), ("AddRoleTo", missing(after, before))):
            for role in roles:
                context.call("iam", f"{verb}InstanceProfile", {}, InstanceProfileName=name, RoleName=role)
