"""What a handler of one resource type is, and what it is given to work with."""

from __future__ import annotations

import secrets
import string
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import botocore.exceptions

from mnp.local_aws.cloudformation.errors import ResourceError
from mnp.local_aws.cloudformation.shapes import to_api

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnp.local_aws.clients import Clients

_SUFFIX_LENGTH = 12


@dataclass
class StackResource:
    """A resource of a stack. moto reads the names `logical_resource_id`, `physical_resource_id`, `cf_resource_type`."""

    logical_resource_id: str
    cf_resource_type: str
    properties: dict[str, Any]
    physical_resource_id: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    depends_on: frozenset[str] = frozenset()
    retained: bool = False
    model: Any = None

    def change(self, properties: dict[str, Any]) -> set[str]:
        """Return the names of the properties that differ from the deployed ones."""
        names = self.properties.keys() | properties.keys()
        return {name for name in names if self.properties.get(name) != properties.get(name)}


@dataclass(frozen=True, kw_only=True)
class Context:
    """The stack a resource is deployed in, and the API to deploy it with."""

    clients: Clients
    account: str
    region: str
    partition: str
    stack_id: str
    stack_name: str
    logical_id: str
    stack_tags: dict[str, str]

    def call(self, service: str, operation: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Call an API operation with a template's properties, named and typed as the API wants them.

        Args:
            service: botocore's service name.
            operation: The operation's own name, such as `CreateVpc`.
            parameters: Properties in the template's spelling.
            more: Parameters in the API's spelling, passed on as they are.

        Raises:
            ResourceError: The API refused, with the API's own message.
        """
        client = self.clients.get(service, self.region)
        shape = client.meta.service_model.operation_model(operation).input_shape
        method = {name: python for python, name in client.meta.method_to_api_mapping.items()}[operation]
        try:
            result: dict[str, Any] = getattr(client, method)(**to_api(parameters, shape), **more)
        except botocore.exceptions.ClientError as error:
            raise ApiError(operation, error) from error
        except botocore.exceptions.BotoCoreError as error:
            raise ResourceError(f"{operation}: {error}") from error
        return result

    def generated_name(self, *, limit: int = 255, lower: bool = False) -> str:
        """Return a physical name as CloudFormation makes one: stack, logical id, 12 random characters."""
        alphabet = string.ascii_uppercase + string.digits
        suffix = "".join(secrets.choice(alphabet) for _ in range(_SUFFIX_LENGTH))
        room = limit - len(suffix) - len(self.logical_id) - 2
        name = f"{self.stack_name[: max(room, 1)]}-{self.logical_id}"[: limit - len(suffix) - 1] + f"-{suffix}"
        return name.lower() if lower else name

    def tags(self, properties: dict[str, Any]) -> list[dict[str, str]]:
        """Return the resource's own tags and the stack's, the resource's first in right."""
        own = properties.get("Tags") or []
        pairs = own.items() if isinstance(own, dict) else ((tag["Key"], tag["Value"]) for tag in own)
        return [{"Key": key, "Value": str(value)} for key, value in {**self.stack_tags, **dict(pairs)}.items()]


class ApiError(ResourceError):
    """The service refused a call."""

    def __init__(self, operation: str, error: botocore.exceptions.ClientError) -> None:
        details = error.response["Error"]
        self.code = details["Code"]
        super().__init__(f"{details.get('Message', '')} (Service: {operation}; Error Code: {self.code})")

    @property
    def means_gone(self) -> bool:
        """Whether the thing to be deleted is not there any more, which is what was wanted."""
        gone = ("NotFound", "NoSuch", "404")
        return any(word in self.code for word in gone)


class Resource(ABC):
    """A handler of one resource type: stateless; what it made is in the `StackResource`."""

    type_name: ClassVar[str]
    # The properties that cannot change in place.
    replaced_by: ClassVar[frozenset[str]] = frozenset()

    def replaces(self, resource: StackResource, properties: dict[str, Any]) -> bool:
        """Whether the change makes a new resource, then deletes the old one ("Update requires: Replacement")."""
        return bool(resource.change(properties) & self.replaced_by)

    @abstractmethod
    def create(self, context: Context, properties: dict[str, Any]) -> str:
        """Create the resource and return its physical id: what `Ref` gives."""

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        """Return what `Fn::GetAtt` gives, by attribute name."""
        del context, resource
        return {}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        """Change the resource in place and return its physical id."""
        del context, properties
        raise ResourceError(f"{self.type_name}: the embedded AWS cannot update {resource.logical_resource_id}")

    @abstractmethod
    def delete(self, context: Context, resource: StackResource) -> None:
        """Delete the resource."""


def pick(properties: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return those of the named properties that are given."""
    return {name: properties[name] for name in names if name in properties}


def without(properties: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the properties but for the named ones."""
    return {name: value for name, value in properties.items() if name not in names}


def missing(items: list[Any], others: list[Any]) -> Iterator[Any]:
    """Yield the items that are not among the others."""
    return (item for item in items if item not in others)
