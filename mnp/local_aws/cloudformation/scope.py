"""What the names in one stack's template stand for while it is being deployed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import botocore.exceptions
import botocore.session

from mnp.local_aws.cloudformation.errors import TemplateError
from mnp.local_aws.cloudformation.intrinsics import NO_VALUE, resolve
from mnp.local_aws.secret_reference import secret_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnp.local_aws.clients import Clients
    from mnp.local_aws.cloudformation.resource import StackResource

_DYNAMIC_REFERENCE = re.compile(r"\{\{resolve:(ssm|ssm-secure|secretsmanager):([^}]+)\}\}")
_URL_SUFFIXES = {"aws-cn": "amazonaws.com.cn"}


def partition_of(region: str) -> str:
    """Return the AWS partition of a region, such as `aws`."""
    return str(botocore.session.Session().get_partition_for_region(region))


class TemplateScope:
    """Parameters, pseudo parameters, conditions, mappings, exports and the resources deployed so far."""

    def __init__(
        self,
        *,
        template: dict[str, Any],
        parameters: dict[str, Any],
        pseudo_parameters: dict[str, Any],
        resources: dict[str, StackResource],
        exports: Callable[[], dict[str, str]],
        clients: Clients,
    ) -> None:
        self._template = template
        self._names = {**parameters, **pseudo_parameters}
        self._resources = resources
        self._exports = exports
        self._clients = clients
        self._region: str = pseudo_parameters["AWS::Region"]

    def ref(self, name: str) -> Any:
        if name in self._names:
            return self._names[name]
        return self._resource(name, "Ref").physical_resource_id

    def get_att(self, logical_id: str, attribute: str) -> Any:
        resource = self._resource(logical_id, "Fn::GetAtt")
        if attribute not in resource.attributes:
            raise TemplateError(
                f"Template error: resource {logical_id} of type {resource.cf_resource_type} does not support "
                f"attribute type {attribute} in Fn::GetAtt"
            )
        return resource.attributes[attribute]

    def condition(self, name: str) -> bool:
        conditions = self._template.get("Conditions", {})
        if name not in conditions:
            raise TemplateError(f"Template error: unresolved condition dependency {name}")
        return bool(resolve(conditions[name], self))

    def find_in_map(self, keys: list[str]) -> Any:
        found: Any = self._template.get("Mappings", {})
        for key in keys[:3]:
            if key not in found:
                raise TemplateError(f"Template error: Unable to get mapping for {'::'.join(keys[:3])}")
            found = found[key]
        return found

    def import_value(self, name: str) -> str:
        exports = self._exports()
        if name not in exports:
            raise TemplateError(f"No export named {name} found.")
        return exports[name]

    def availability_zones(self, region: str) -> list[str]:
        zones = self._clients.get("ec2", region or self._region).describe_availability_zones()
        return [zone["ZoneName"] for zone in zones["AvailabilityZones"]]

    def dynamic_reference(self, text: str) -> str:
        return _DYNAMIC_REFERENCE.sub(lambda match: self._dynamic(*match.groups()), text)

    def _dynamic(self, service: str, reference: str) -> str:
        try:
            if service != "secretsmanager":
                client = self._clients.get("ssm", self._region)
                return str(client.get_parameter(Name=reference, WithDecryption=True)["Parameter"]["Value"])
            return secret_value(self._clients, self._region, reference.replace(":SecretString", "", 1))
        except (botocore.exceptions.ClientError, KeyError) as error:
            raise TemplateError(f"Could not resolve {{{{resolve:{service}:{reference}}}}}: {error}") from error

    def _resource(self, name: str, function: str) -> StackResource:
        if name not in self._resources:
            raise TemplateError(f"Template error: instance of {function} references undefined resource {name}")
        return self._resources[name]


def pseudo_parameters(*, account: str, region: str, stack_id: str, stack_name: str) -> dict[str, Any]:
    """Return AWS's pseudo parameters of one stack."""
    partition = partition_of(region)
    return {
        "AWS::AccountId": account,
        "AWS::NoValue": NO_VALUE,
        "AWS::NotificationARNs": [],
        "AWS::Partition": partition,
        "AWS::Region": region,
        "AWS::StackId": stack_id,
        "AWS::StackName": stack_name,
        "AWS::URLSuffix": _URL_SUFFIXES.get(partition, "amazonaws.com"),
    }
