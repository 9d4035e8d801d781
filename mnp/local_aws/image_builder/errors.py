"""Image Builder's ways of refusing a request.

https://docs.aws.amazon.com/imagebuilder/latest/APIReference/CommonErrors.html, checked 2026-11-21.
"""

from __future__ import annotations

from typing import ClassVar

from mnp.local_aws.rest_json import RefusalError


class InvalidParameterError(RefusalError):
    code: ClassVar[str] = "InvalidParameterValueException"


class InvalidRequestError(RefusalError):
    code: ClassVar[str] = "InvalidRequestException"


class AlreadyExistsError(RefusalError):
    code: ClassVar[str] = "ResourceAlreadyExistsException"


class DependencyError(RefusalError):
    code: ClassVar[str] = "ResourceDependencyException"


class NotFoundError(RefusalError):
    code: ClassVar[str] = "ResourceNotFoundException"
    status: ClassVar[int] = 404
