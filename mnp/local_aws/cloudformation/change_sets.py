"""The change set requests that moto answers without looking at the stack.

The CDK CLI gives every stack's change set the same name, so a name means something in its stack only.
"""

from __future__ import annotations

from typing import Any

from moto.cloudformation.exceptions import CloudFormationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult

_moto_validation = CloudFormationResponse._validate_different_update  # noqa: SLF001 - called by ours


class ChangeSetNotFoundError(CloudFormationError):  # type: ignore[misc] # moto is untyped here
    """There is no such change set, in AWS's error shape; the CDK CLI looks at the code."""

    code = "ChangeSetNotFound"


def find(change_sets: dict[str, Any], name_or_id: str, stack: str | None) -> Any:
    """Return the newest change set of a name in a stack, or the one of an id.

    Raises:
        ChangeSetNotFoundError: There is none.
    """
    if name_or_id in change_sets:
        return change_sets[name_or_id]
    for change_set in reversed(change_sets.values()):
        if change_set.change_set_name == name_or_id and stack in {change_set.stack_name, change_set.stack_id}:
            return change_set
    raise ChangeSetNotFoundError(f"ChangeSet [{name_or_id}] does not exist")


def install() -> None:
    """Answer these requests instead of moto."""
    CloudFormationResponse.describe_change_set = _describe
    CloudFormationResponse.delete_change_set = _delete
    CloudFormationResponse._validate_different_update = _validate_different_update  # noqa: SLF001 - moto's to call


def _describe(request: Any) -> ActionResult:
    return ActionResult(_asked_for(request))


def _delete(request: Any) -> EmptyResult:
    try:
        del request.cloudformation_backend.change_sets[_asked_for(request).change_set_id]
    except ChangeSetNotFoundError:
        # Deleting what is not there succeeds, as in AWS.
        return EmptyResult()
    return EmptyResult()


def _asked_for(request: Any) -> Any:
    name, stack = request._get_param("ChangeSetName"), request._get_param("StackName")  # noqa: SLF001 - moto's idiom
    return find(request.cloudformation_backend.change_sets, name, stack)


def _validate_different_update(request: Any, parameters: Any, body: Any, stack: Any) -> None:
    # Only UpdateStack refuses an update without changes; a change set without any is made, and is FAILED.
    if request._get_action() == "UpdateStack":  # noqa: SLF001 - moto's own idiom
        _moto_validation(request, parameters, body, stack)
