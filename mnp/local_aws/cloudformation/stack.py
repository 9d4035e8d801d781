"""A stack's life: create, update, delete, with CloudFormation's states, events and rollback."""

from __future__ import annotations

from typing import Any

from moto.cloudformation.models import Change, ChangeSet, Event, Stack
from moto.cloudformation.parsing import Export, Output
from moto.core.utils import utcnow

from mnp.local_aws.clients import Clients
from mnp.local_aws.cloudformation.deployment import (
    Deployment,
    DeploymentError,
    delete,
    delete_order,
    validate,
)
from mnp.local_aws.cloudformation.errors import TemplateError
from mnp.local_aws.cloudformation.intrinsics import resolve
from mnp.local_aws.cloudformation.parameters import parameter_values
from mnp.local_aws.cloudformation.resource import Context, StackResource
from mnp.local_aws.cloudformation.scope import TemplateScope, partition_of, pseudo_parameters


class LocalStack(Stack):  # type: ignore[misc] # moto is untyped here
    """moto's Stack, as its responses read it, with our own way of bringing it about."""

    def __init__(
        self,
        *,
        stack_id: str,
        name: str,
        account_id: str,
        region_name: str,
        clients: Clients,
        exports: dict[str, Export],
        tags: dict[str, str] | None = None,
        enable_termination_protection: bool = False,
        **ignored: Any,
    ) -> None:
        del ignored
        self.stack_id, self.name = stack_id, name
        self.account_id, self.region_name = account_id, region_name
        self.template: str | dict[str, Any] = {}
        self.template_dict: dict[str, Any] = {}
        self.description = None
        self.parameters: dict[str, Any] = {}
        self.resolved: dict[str, Any] = {}
        self.notification_arns: list[str] = []
        self.role_arn, self.timeout_in_minutes, self.policy = None, None, ""
        self.tags = tags or {}
        self.events: list[Event] = []
        self.enable_termination_protection = enable_termination_protection
        self.disable_rollback = False
        self.creation_time = utcnow()
        self.status = "REVIEW_IN_PROGRESS"
        self.stack_status_reason: str | None = None
        self.resources: dict[str, StackResource] = {}
        self._outputs: list[dict[str, Any]] = []
        self._clients, self._all_exports = clients, exports

    # What moto's responses read.

    @property
    def parameter_list(self) -> list[dict[str, Any]]:
        hidden = {name for name, spec in self.template_dict.get("Parameters", {}).items() if spec.get("NoEcho")}
        return [
            {"ParameterKey": name, "ParameterValue": "****" if name in hidden else value}
            for name, value in self.parameters.items()
        ]

    @property
    def stack_parameters(self) -> dict[str, Any]:
        return self.parameters

    @property
    def stack_resources(self) -> list[StackResource]:
        return list(self.resources.values())

    @property
    def outputs(self) -> list[dict[str, Any]] | None:
        return self._outputs or None

    @property
    def exports(self) -> list[Export]:
        named = (output for output in self._outputs if output["ExportName"])
        return [Export(self.stack_id, output["ExportName"], output["OutputValue"]) for output in named]

    def resolves_as_before(self) -> bool:
        """Whether the parameters still have the values of the last deployment: one from SSM may have moved."""
        return self.resolved == parameter_values(self.template_dict, self.parameters, self._clients, self.region_name)

    # What a deployment does.

    def deploy(self, action: str, template: str, parameters: dict[str, Any]) -> None:
        """Create or update the stack; on a failure roll back, as CloudFormation does unless told otherwise.

        Args:
            action: CREATE or UPDATE.
            template: The new template's text.
            parameters: The parameters given, by name.
        """
        before = (self.template, self.parameters)
        self._set_status(f"{action}_IN_PROGRESS", "User Initiated")
        try:
            self._apply(template, parameters)
        except (DeploymentError, TemplateError) as error:
            self._set_status(f"{action}_FAILED", str(error))
            if self.disable_rollback:
                return
            self._roll_back(action, before, str(error))
            return
        self._set_status(f"{action}_COMPLETE")

    def delete(self) -> None:
        """Delete the stack's resources; one that cannot be deleted leaves the stack in DELETE_FAILED."""
        self._set_status("DELETE_IN_PROGRESS", "User Initiated")
        try:
            self._delete_resources()
        except DeploymentError as error:
            self._set_status("DELETE_FAILED", str(error))
            return
        self._set_status("DELETE_COMPLETE")

    def _apply(self, template: str, parameters: dict[str, Any]) -> None:
        parsed = self.parse_template(template)
        validate(parsed)
        values = parameter_values(parsed, parameters, self._clients, self.region_name)
        scope = TemplateScope(
            template=parsed,
            parameters=values,
            pseudo_parameters=pseudo_parameters(
                account=self.account_id, region=self.region_name, stack_id=self.stack_id, stack_name=self.name
            ),
            resources=self.resources,
            exports=lambda: {name: export.value for name, export in self._all_exports.items()},
            clients=self._clients,
        )
        self.template, self.template_dict = template, parsed
        self.description = parsed.get("Description")
        declared = parsed.get("Parameters", {})
        self.parameters = {name: parameters.get(name, spec.get("Default")) for name, spec in declared.items()}
        self.resolved = values
        Deployment(
            template=parsed,
            scope=scope,
            resources=self.resources,
            context=self._context,
            journal=self._resource_event,
        ).apply()
        self._set_outputs(parsed, scope)

    def _roll_back(self, action: str, before: tuple[Any, dict[str, Any]], reason: str) -> None:
        prefix = "UPDATE_" if action == "UPDATE" else ""
        self._set_status(f"{prefix}ROLLBACK_IN_PROGRESS", reason)
        try:
            if action == "UPDATE":
                self._apply(*before)
            else:
                for resource in self.resources.values():
                    resource.retained = False
                self._delete_resources()
        except (DeploymentError, TemplateError) as error:
            self._set_status(f"{prefix}ROLLBACK_FAILED", str(error))
            return
        self._set_status(f"{prefix}ROLLBACK_COMPLETE")

    def _delete_resources(self) -> None:
        for resource in delete_order(self.resources.values()):
            delete(resource, self._context, self._resource_event)
            del self.resources[resource.logical_resource_id]
        self._forget_exports()

    def _set_outputs(self, template: dict[str, Any], scope: TemplateScope) -> None:
        outputs = []
        for key, declared in template.get("Outputs", {}).items():
            if "Condition" in declared and not scope.condition(declared["Condition"]):
                continue
            output = Output(key, str(resolve(declared["Value"], scope)), declared.get("Description"))
            name = resolve(declared.get("Export", {}).get("Name"), scope)
            outputs.append(
                {"OutputKey": key, "OutputValue": output.value, "Description": output.description, "ExportName": name}
            )
        self._forget_exports()
        taken = sorted({o["ExportName"] for o in outputs if o["ExportName"]} & set(self._all_exports))
        if taken:
            raise TemplateError(f"Export with name {taken[0]} is already exported by another stack")
        self._outputs = outputs
        self._all_exports.update({export.name: export for export in self.exports})

    def _forget_exports(self) -> None:
        for export in self.exports:
            self._all_exports.pop(export.name, None)

    def _context(self, logical_id: str) -> Context:
        return Context(
            clients=self._clients,
            account=self.account_id,
            region=self.region_name,
            partition=partition_of(self.region_name),
            stack_id=self.stack_id,
            stack_name=self.name,
            logical_id=logical_id,
            stack_tags=self.tags,
        )

    def _set_status(self, status: str, reason: str | None = None) -> None:
        self.status, self.stack_status_reason = status, reason
        self._add_stack_event(status, resource_status_reason=reason)

    def _resource_event(self, resource: StackResource, status: str, reason: str | None = None) -> None:
        self.events.append(
            Event(
                stack_id=self.stack_id,
                stack_name=self.name,
                logical_resource_id=resource.logical_resource_id,
                physical_resource_id=resource.physical_resource_id,
                resource_type=resource.cf_resource_type,
                resource_status=status,
                resource_status_reason=reason,
                resource_properties=None,
            )
        )


class LocalChangeSet(ChangeSet):  # type: ignore[misc] # moto is untyped here
    """moto's ChangeSet, compared with what the stack deployed."""

    def diff(self) -> list[Change]:
        validate(self.template_dict)
        old, new = self.stack.template_dict.get("Resources", {}), self.template_dict["Resources"]
        actions = {name: "Add" for name in new if name not in old}
        actions |= {name: "Modify" for name in new if name in old and new[name] != old[name]}
        actions |= {name: "Remove" for name in old if name not in new}
        return [
            Change(action=action, logical_resource_id=name, resource_type=(new.get(name) or old[name])["Type"])
            for name, action in actions.items()
        ]
