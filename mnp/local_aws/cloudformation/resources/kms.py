"""AWS::KMS::Key and Alias."""

from __future__ import annotations

import json
from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick

_DELETION_DAYS = 7


class Key(Resource):
    type_name = "AWS::KMS::Key"
    replaced_by = frozenset({"KeySpec", "KeyUsage", "MultiRegion", "Origin"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "Description", "KeySpec", "KeyUsage", "MultiRegion", "Origin")
        tags = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in context.tags(properties)]
        answer = context.call("kms", "CreateKey", wanted, **({"Tags": tags} if tags else {}))
        key_id = str(answer["KeyMetadata"]["KeyId"])
        self._set_policy_and_rotation(context, key_id, properties)
        return key_id

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        metadata = context.call("kms", "DescribeKey", {}, KeyId=resource.physical_resource_id)["KeyMetadata"]
        return {"Arn": metadata["Arn"], "KeyId": metadata["KeyId"]}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        key_id = resource.physical_resource_id
        description = str(properties.get("Description", ""))
        context.call("kms", "UpdateKeyDescription", {}, KeyId=key_id, Description=description)
        self._set_policy_and_rotation(context, key_id, properties)
        return key_id

    def delete(self, context: Context, resource: StackResource) -> None:
        days = int(resource.properties.get("PendingWindowInDays", _DELETION_DAYS))
        key_id = resource.physical_resource_id
        context.call("kms", "ScheduleKeyDeletion", {}, KeyId=key_id, PendingWindowInDays=days)

    def _set_policy_and_rotation(self, context: Context, key_id: str, properties: dict[str, Any]) -> None:
        if "KeyPolicy" in properties:
            policy = json.dumps(properties["KeyPolicy"])
            context.call("kms", "PutKeyPolicy", {}, KeyId=key_id, PolicyName="default", Policy=policy)
        rotated = str(properties.get("EnableKeyRotation", False)).lower() == "true"
        context.call("kms", "EnableKeyRotation" if rotated else "DisableKeyRotation", {}, KeyId=key_id)


class Alias(Resource):
    type_name = "AWS::KMS::Alias"
    replaced_by = frozenset({"AliasName"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        context.call("kms", "CreateAlias", pick(properties, "AliasName", "TargetKeyId"))
        return str(properties["AliasName"])

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        context.call("kms", "UpdateAlias", pick(properties, "AliasName", "TargetKeyId"))
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("kms", "DeleteAlias", {}, AliasName=resource.physical_resource_id)
