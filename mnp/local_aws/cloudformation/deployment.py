"""One deployment of a template: create what is new, change what differs, then delete what is left over."""

from __future__ import annotations

import graphlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mnp.local_aws.cloudformation.errors import ResourceError, TemplateError
from mnp.local_aws.cloudformation.intrinsics import references, resolve
from mnp.local_aws.cloudformation.registry import handler
from mnp.local_aws.cloudformation.resource import ApiError, Context, Resource, StackResource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mnp.local_aws.cloudformation.scope import TemplateScope


class Journal(Protocol):
    """Takes down what happens to each resource; the stack's events."""

    def __call__(self, resource: StackResource, status: str, reason: str | None = None) -> None: ...


class DeploymentError(Exception):
    """A resource failed; `logical_id` says which, the message why."""

    def __init__(self, logical_id: str, reason: str) -> None:
        super().__init__(f"Resource {logical_id} failed: {reason}")
        self.logical_id = logical_id


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What is deployed, where to, and who is told."""

    template: dict[str, Any]
    scope: TemplateScope
    resources: dict[str, StackResource]
    context: Callable[[str], Context]
    journal: Journal

    def apply(self) -> None:
        """Bring the stack's resources in line with the template.

        Raises:
            DeploymentError: A resource failed. What was done so far stands, in `resources`; the caller rolls back.
        """
        wanted = wanted_resources(self.template, self.scope)
        superseded: list[StackResource] = []
        for logical_id in dependency_order(wanted):
            try:
                superseded += self._deploy(logical_id, wanted[logical_id])
            except (ResourceError, TemplateError) as error:
                raise DeploymentError(logical_id, str(error)) from error
        removed = [resource for name, resource in self.resources.items() if name not in wanted]
        for resource in delete_order([*removed, *superseded]):
            delete(resource, self.context, self.journal)
            if self.resources.get(resource.logical_resource_id) is resource:
                del self.resources[resource.logical_resource_id]

    def _deploy(self, logical_id: str, declared: dict[str, Any]) -> list[StackResource]:
        properties = resolve(declared.get("Properties", {}), self.scope)
        new = StackResource(logical_id, declared["Type"], properties)
        new.depends_on = frozenset(_dependencies(declared))
        new.retained = declared.get("DeletionPolicy") in {"Retain", "RetainExceptOnCreate"}
        old = self.resources.get(logical_id)
        if old is None:
            self._create(new)
            return []
        old.depends_on, old.retained = new.depends_on, new.retained
        if old.cf_resource_type != new.cf_resource_type or self._kind(old).replaces(old, properties):
            self._create(new)
            old.retained = declared.get("UpdateReplacePolicy") == "Retain"
            return [old]
        if old.change(properties):
            self._update(old, properties)
        return []

    def _kind(self, resource: StackResource) -> Resource:
        return handler(resource.cf_resource_type, resource.logical_resource_id)

    def _create(self, resource: StackResource) -> None:
        kind, context = self._kind(resource), self.context(resource.logical_resource_id)
        self.journal(resource, "CREATE_IN_PROGRESS")
        try:
            resource.physical_resource_id = kind.create(context, resource.properties)
            self.resources[resource.logical_resource_id] = resource
            resource.attributes = kind.attributes(context, resource)
        except ResourceError as error:
            self.journal(resource, "CREATE_FAILED", str(error))
            raise
        self.journal(resource, "CREATE_COMPLETE")

    def _update(self, resource: StackResource, properties: dict[str, Any]) -> None:
        kind, context = self._kind(resource), self.context(resource.logical_resource_id)
        self.journal(resource, "UPDATE_IN_PROGRESS")
        try:
            resource.physical_resource_id = kind.update(context, resource, properties)
        except ResourceError as error:
            self.journal(resource, "UPDATE_FAILED", str(error))
            raise
        resource.properties = properties
        resource.attributes = kind.attributes(context, resource)
        self.journal(resource, "UPDATE_COMPLETE")


def delete(resource: StackResource, context: Callable[[str], Context], journal: Journal) -> None:
    """Delete one resource, unless its policy is to retain it; one that is gone already counts as deleted."""
    if resource.retained:
        journal(resource, "DELETE_SKIPPED")
        return
    kind = handler(resource.cf_resource_type, resource.logical_resource_id)
    journal(resource, "DELETE_IN_PROGRESS")
    try:
        kind.delete(context(resource.logical_resource_id), resource)
    except ResourceError as error:
        if not (isinstance(error, ApiError) and error.means_gone):
            journal(resource, "DELETE_FAILED", str(error))
            raise DeploymentError(resource.logical_resource_id, str(error)) from error
    journal(resource, "DELETE_COMPLETE")


def delete_order(resources: Iterable[StackResource]) -> list[StackResource]:
    """Return the resources so that each comes before those it depends on."""
    listed = list(resources)
    by_name: dict[str, list[StackResource]] = {}
    for resource in listed:
        by_name.setdefault(resource.logical_resource_id, []).append(resource)
    graph = {name: {d for r in same for d in r.depends_on if d in by_name} for name, same in by_name.items()}
    order = graphlib.TopologicalSorter(graph).static_order()
    return [resource for name in reversed(list(order)) for resource in by_name[name]]


def wanted_resources(template: dict[str, Any], scope: TemplateScope) -> dict[str, dict[str, Any]]:
    """Return the template's resources but for those whose condition is false."""
    return {
        logical_id: declared
        for logical_id, declared in template["Resources"].items()
        if "Condition" not in declared or scope.condition(declared["Condition"])
    }


def dependency_order(wanted: dict[str, dict[str, Any]]) -> list[str]:
    """Return the logical ids so that each comes after those it depends on.

    Raises:
        TemplateError: The dependencies are circular.
    """
    graph = {name: {d for d in _dependencies(declared) if d in wanted} for name, declared in wanted.items()}
    try:
        return list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        cycle = ", ".join(error.args[1])
        raise TemplateError(f"Circular dependency between resources: [{cycle}]") from error


def validate(template: Any) -> None:
    """Refuse a template with a resource nobody models, or a reference to nothing.

    Raises:
        TemplateError: The message names the logical id and, where it is to blame, the type.
    """
    resources = template.get("Resources") if isinstance(template, dict) else None
    if not resources:
        raise TemplateError("Template format error: At least one Resources member must be defined.")
    known = {*resources, *template.get("Parameters", {})}
    for logical_id, declared in resources.items():
        handler(declared.get("Type", ""), logical_id)
        unknown = [name for name in _dependencies(declared) if name not in known and not name.startswith("AWS::")]
        if unknown:
            raise TemplateError(
                f"Template format error: Unresolved resource dependencies {unknown} in the Resources block of the "
                f"template (resource {logical_id})"
            )
    dependency_order(resources)


def _dependencies(declared: dict[str, Any]) -> list[str]:
    explicit = declared.get("DependsOn", [])
    explicit = [explicit] if isinstance(explicit, str) else explicit
    return [*explicit, *references(declared.get("Properties", {}))]
