"""Batch's way of refusing a request."""

from __future__ import annotations


class ClientException(Exception):  # noqa: N818 - AWS's name
    """The request is refused: HTTP 400, `ClientException`."""
