"""The CloudFormation operations that start, change and end stacks, on top of moto's backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from moto.cloudformation import urls
from moto.cloudformation.exceptions import AlreadyExistsException
from moto.cloudformation.models import CloudFormationBackend, cloudformation_backends
from moto.cloudformation.utils import generate_changeset_id, generate_stack_id

from mnp.local_aws.cloudformation import change_sets
from mnp.local_aws.cloudformation.deployment import validate
from mnp.local_aws.cloudformation.errors import TemplateError
from mnp.local_aws.cloudformation.stack import LocalChangeSet, LocalStack

if TYPE_CHECKING:
    from mnp.local_aws.clients import Clients

_NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."
_UPDATABLE = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"}


class LocalCloudFormation(CloudFormationBackend):  # type: ignore[misc] # moto is untyped here
    """moto's backend with stacks that deploy through the public API."""

    clients: ClassVar[Clients]
    # moto looks for the routes beside the class.
    _url_module = urls

    def create_stack(self, name: str, template: str, parameters: dict[str, Any], **options: Any) -> LocalStack:
        if any(stack.name == name for stack in self.stacks.values()):
            raise AlreadyExistsException(f"Stack [{name}] already exists")
        validate(LocalStack.parse_template(template))
        stack = self._new_stack(name, **options)
        stack.deploy("CREATE", template, parameters)
        return stack

    def update_stack(
        self,
        name: str,
        template: str,
        role_arn: str | None,
        parameters: list[dict[str, Any]],
        tags: dict[str, str] | None,
    ) -> LocalStack:
        del role_arn
        stack = self._updatable(name)
        values = self._resolve_update_parameters(instance=stack, incoming_params=parameters)
        validate(LocalStack.parse_template(template))
        if tags is not None:
            stack.tags = tags
        stack.deploy("UPDATE", template, values)
        return stack

    def create_change_set(
        self,
        stack_name: str,
        change_set_name: str,
        template: str,
        parameters: dict[str, str],
        change_set_type: str,
        **options: Any,
    ) -> tuple[str, str]:
        validate(LocalStack.parse_template(template))
        if change_set_type == "UPDATE":
            stack = self._updatable(stack_name)
        else:
            stack = self._stack_in_review(stack_name, **options)
        change_set = LocalChangeSet(
            change_set_type=change_set_type,
            change_set_id=generate_changeset_id(change_set_name, self.region_name, self.account_id),
            change_set_name=change_set_name,
            stack=stack,
            template=template,
            parameters=parameters,
            **options,
        )
        change_set.status, change_set.execution_status = "CREATE_COMPLETE", "AVAILABLE"
        same_parameters = stack.has_parameters({**stack.parameters, **parameters})
        if (
            change_set_type == "UPDATE"
            and same_parameters
            and stack.has_template(template)
            and stack.resolves_as_before()
        ):
            change_set.status, change_set.execution_status = "FAILED", "UNAVAILABLE"
            change_set.status_reason = _NO_CHANGES
        self.change_sets[change_set.change_set_id] = change_set
        return change_set.change_set_id, stack.stack_id

    def execute_change_set(self, change_set_name: str, stack_name: str | None = None) -> None:
        change_set = change_sets.find(self.change_sets, change_set_name, stack_name)
        change_set.execution_status = "EXECUTE_IN_PROGRESS"
        if change_set.tags is not None:
            change_set.stack.tags = change_set.tags
        change_set.stack.deploy(change_set.change_set_type, change_set.template, change_set.parameters)
        complete = change_set.stack.status == f"{change_set.change_set_type}_COMPLETE"
        change_set.execution_status = "EXECUTE_COMPLETE" if complete else "EXECUTE_FAILED"

    def delete_stack(self, name_or_stack_id: str) -> None:
        for stack in list(self.stacks.values()):
            if name_or_stack_id in {stack.name, stack.stack_id}:
                if stack.enable_termination_protection:
                    raise TemplateError(
                        f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
                    )
                stack.delete()
                if stack.status == "DELETE_COMPLETE":
                    self.deleted_stacks[stack.stack_id] = self.stacks.pop(stack.stack_id)

    def _new_stack(self, name: str, **options: Any) -> LocalStack:
        stack = LocalStack(
            stack_id=generate_stack_id(name, self.region_name, self.account_id),
            name=name,
            account_id=self.account_id,
            region_name=self.region_name,
            clients=self.clients,
            exports=self.exports,
            **options,
        )
        self.stacks[stack.stack_id] = stack
        return stack

    def _stack_in_review(self, name: str, **options: Any) -> LocalStack:
        for stack in self.stacks.values():
            if stack.name == name:
                if stack.status != "REVIEW_IN_PROGRESS":
                    raise TemplateError(f"Stack [{name}] already exists and cannot be created again")
                return cast("LocalStack", stack)
        stack = self._new_stack(name, **options)
        stack._set_status("REVIEW_IN_PROGRESS", "User Initiated")  # noqa: SLF001 - the same subject
        return stack

    def _updatable(self, name: str) -> LocalStack:
        stack: LocalStack = self.get_stack(name)
        if stack.status not in _UPDATABLE:
            raise TemplateError(f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated.")
        return stack


def install(clients: Clients) -> None:
    """Make moto's CloudFormation deploy with our handlers, through `clients`."""
    LocalCloudFormation.clients = clients
    cloudformation_backends.backend = LocalCloudFormation
    change_sets.install()
