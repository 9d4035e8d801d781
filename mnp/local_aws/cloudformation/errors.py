"""Errors of a template and of its deployment, in CloudFormation's error shape."""

from __future__ import annotations

from moto.cloudformation.exceptions import ValidationError


class TemplateError(ValidationError):  # type: ignore[misc] # moto is untyped here
    """The template is refused: nothing was changed, or what was changed is rolled back."""

    def __init__(self, message: str) -> None:
        super().__init__(message=message)
        self.reason = message


class ResourceError(Exception):
    """One resource could not be created, updated or deleted; the stack operation fails with this reason."""
