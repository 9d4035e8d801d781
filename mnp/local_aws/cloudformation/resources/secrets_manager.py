"""AWS::SecretsManager::Secret."""

from __future__ import annotations

import json
from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick

_GENERATOR = (
    "ExcludeCharacters",
    "ExcludeLowercase",
    "ExcludeNumbers",
    "ExcludePunctuation",
    "ExcludeUppercase",
    "IncludeSpace",
    "PasswordLength",
    "RequireEachIncludedType",
)


class Secret(Resource):
    type_name = "AWS::SecretsManager::Secret"
    replaced_by = frozenset({"Name"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "Description", "KmsKeyId")
        tags = context.tags(properties)
        answer = context.call(
            "secretsmanager",
            "CreateSecret",
            wanted,
            Name=properties.get("Name") or context.generated_name(),
            SecretString=self._value(context, properties),
            **({"Tags": tags} if tags else {}),
        )
        return str(answer["ARN"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"Id": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "Description", "KmsKeyId")
        if resource.change(properties) & {"SecretString", "GenerateSecretString"}:
            wanted["SecretString"] = self._value(context, properties)
        context.call("secretsmanager", "UpdateSecret", wanted, SecretId=resource.physical_resource_id)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        secret_id = resource.physical_resource_id
        context.call("secretsmanager", "DeleteSecret", {}, SecretId=secret_id, ForceDeleteWithoutRecovery=True)

    def _value(self, context: Context, properties: dict[str, Any]) -> str:
        if "SecretString" in properties:
            return str(properties["SecretString"])
        spec = properties.get("GenerateSecretString", {})
        answer = context.call("secretsmanager", "GetRandomPassword", pick(spec, *_GENERATOR))
        password = str(answer["RandomPassword"])
        if "SecretStringTemplate" not in spec:
            return password
        document = json.loads(spec["SecretStringTemplate"])
        return json.dumps({**document, spec["GenerateStringKey"]: password})
