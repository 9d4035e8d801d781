"""Batch's way of refusing a request."""

from __future__ import annotations

from typing import ClassVar

from mnp.local_aws.rest_json import RefusalError


class ClientException(RefusalError):  # noqa: N818 - AWS's name
    """The request is refused: HTTP 400, `ClientException`."""

    code: ClassVar[str] = "ClientException"
