"""AWS::ECR::Repository."""

from __future__ import annotations

import json
from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick


class Repository(Resource):
    type_name = "AWS::ECR::Repository"
    replaced_by = frozenset({"RepositoryName", "EncryptionConfiguration"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "EncryptionConfiguration", "ImageScanningConfiguration", "ImageTagMutability")
        name = str(properties.get("RepositoryName") or context.generated_name(lower=True))
        tags = context.tags(properties)
        context.call("ecr", "CreateRepository", wanted, repositoryName=name, **({"tags": tags} if tags else {}))
        self._set_policies(context, name, properties)
        return name

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        name = resource.physical_resource_id
        repository = context.call("ecr", "DescribeRepositories", {}, repositoryNames=[name])["repositories"][0]
        return {"Arn": repository["repositoryArn"], "RepositoryUri": repository["repositoryUri"]}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        name = resource.physical_resource_id
        for operation, key in (
            ("PutImageTagMutability", "ImageTagMutability"),
            ("PutImageScanningConfiguration", "ImageScanningConfiguration"),
        ):
            if key in properties:
                context.call("ecr", operation, pick(properties, key), repositoryName=name)
        self._set_policies(context, name, properties)
        return name

    def delete(self, context: Context, resource: StackResource) -> None:
        emptied = bool(resource.properties.get("EmptyOnDelete", False))
        context.call("ecr", "DeleteRepository", {}, repositoryName=resource.physical_resource_id, force=emptied)

    def _set_policies(self, context: Context, name: str, properties: dict[str, Any]) -> None:
        if "RepositoryPolicyText" in properties:
            text = properties["RepositoryPolicyText"]
            text = text if isinstance(text, str) else json.dumps(text)
            context.call("ecr", "SetRepositoryPolicy", {}, repositoryName=name, policyText=text)
        if "LifecyclePolicyText" in properties.get("LifecyclePolicy", {}):
            text = properties["LifecyclePolicy"]["LifecyclePolicyText"]
            context.call("ecr", "PutLifecyclePolicy", {}, repositoryName=name, lifecyclePolicyText=text)
