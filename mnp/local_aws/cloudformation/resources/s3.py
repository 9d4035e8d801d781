"""AWS::S3::Bucket and BucketPolicy."""

from __future__ import annotations

import json
from typing import Any

from mnp.local_aws.cloudformation.errors import ResourceError
from mnp.local_aws.cloudformation.resource import ApiError, Context, Resource, StackResource

_HOME_REGION = "us-east-1"


class Bucket(Resource):
    type_name = "AWS::S3::Bucket"
    replaced_by = frozenset({"BucketName", "ObjectLockEnabled"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        name = str(properties.get("BucketName") or context.generated_name(limit=63, lower=True))
        location = {"CreateBucketConfiguration": {"LocationConstraint": context.region}}
        try:
            context.call("s3", "HeadBucket", {}, Bucket=name)
        except ApiError:
            context.call("s3", "CreateBucket", {}, Bucket=name, **location if context.region != _HOME_REGION else {})
            self._configure(context, name, {}, properties)
            return name
        raise ResourceError(f"{name} already exists")

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        name, region = resource.physical_resource_id, context.region
        return {
            "Arn": f"arn:{context.partition}:s3:::{name}",
            "DomainName": f"{name}.s3.amazonaws.com",
            "DualStackDomainName": f"{name}.s3.dualstack.{region}.amazonaws.com",
            "RegionalDomainName": f"{name}.s3.{region}.amazonaws.com",
            "WebsiteURL": f"http://{name}.s3-website-{region}.amazonaws.com",
        }

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._configure(context, resource.physical_resource_id, resource.properties, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("s3", "DeleteBucket", {}, Bucket=resource.physical_resource_id)

    def _configure(self, context: Context, name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        for setting, (put, remove, parameters) in _SETTINGS.items():
            if setting in new and new[setting] != old.get(setting):
                context.call("s3", put, parameters(new[setting]), Bucket=name)
            elif setting in old and setting not in new and remove:
                context.call("s3", remove, {}, Bucket=name)
        tags = context.tags(new)
        if tags:
            context.call("s3", "PutBucketTagging", {"Tagging": {"TagSet": tags}}, Bucket=name)


def _encryption(value: dict[str, Any]) -> dict[str, Any]:
    rules = [
        {"ApplyServerSideEncryptionByDefault": rule.get("ServerSideEncryptionByDefault", {})}
        | ({"BucketKeyEnabled": rule["BucketKeyEnabled"]} if "BucketKeyEnabled" in rule else {})
        for rule in value["ServerSideEncryptionConfiguration"]
    ]
    return {"ServerSideEncryptionConfiguration": {"Rules": rules}}


def _lifecycle(value: dict[str, Any]) -> dict[str, Any]:
    return {"LifecycleConfiguration": {"Rules": [_lifecycle_rule(rule) for rule in value["Rules"]]}}


def _lifecycle_rule(rule: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"Status": rule["Status"], "Filter": {"Prefix": rule.get("Prefix", "")}}
    if "Id" in rule:
        result["ID"] = rule["Id"]
    if "ExpirationInDays" in rule:
        result["Expiration"] = {"Days": rule["ExpirationInDays"]}
    if rule.get("ExpiredObjectDeleteMarker"):
        result["Expiration"] = {"ExpiredObjectDeleteMarker": True}
    noncurrent = rule.get("NoncurrentVersionExpiration")
    days = noncurrent["NoncurrentDays"] if noncurrent else rule.get("NoncurrentVersionExpirationInDays")
    if days is not None:
        result["NoncurrentVersionExpiration"] = {"NoncurrentDays": days}
    if "AbortIncompleteMultipartUpload" in rule:
        result["AbortIncompleteMultipartUpload"] = rule["AbortIncompleteMultipartUpload"]
    if "Transitions" in rule:
        result["Transitions"] = [
            {"StorageClass": t["StorageClass"], "Days": t["TransitionInDays"]} for t in rule["Transitions"]
        ]
    return result


def _logging(value: dict[str, Any]) -> dict[str, Any]:
    target = {
        "TargetBucket": value.get("DestinationBucketName"),
        "TargetPrefix": value.get("LogFilePrefix", ""),
    }
    return {"BucketLoggingStatus": {"LoggingEnabled": target} if target["TargetBucket"] else {}}


# Property -> operation that sets it, operation that removes it, and the former's parameters.
_SETTINGS: dict[str, tuple[str, str | None, Any]] = {
    "BucketEncryption": ("PutBucketEncryption", "DeleteBucketEncryption", _encryption),
    "LifecycleConfiguration": ("PutBucketLifecycleConfiguration", "DeleteBucketLifecycle", _lifecycle),
    "LoggingConfiguration": ("PutBucketLogging", None, _logging),
    "OwnershipControls": (
        "PutBucketOwnershipControls",
        "DeleteBucketOwnershipControls",
        lambda value: {"OwnershipControls": value},
    ),
    "PublicAccessBlockConfiguration": (
        "PutPublicAccessBlock",
        "DeletePublicAccessBlock",
        lambda value: {"PublicAccessBlockConfiguration": value},
    ),
    "VersioningConfiguration": (
        "PutBucketVersioning",
        None,
        lambda value: {"VersioningConfiguration": value},
    ),
}


class BucketPolicy(Resource):
    type_name = "AWS::S3::BucketPolicy"
    replaced_by = frozenset({"Bucket"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        self._put(context, properties)
        return str(properties["Bucket"])

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        self._put(context, properties)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("s3", "DeleteBucketPolicy", {}, Bucket=resource.properties["Bucket"])

    def _put(self, context: Context, properties: dict[str, Any]) -> None:
        policy = json.dumps(properties["PolicyDocument"])
        context.call("s3", "PutBucketPolicy", {}, Bucket=properties["Bucket"], Policy=policy)
