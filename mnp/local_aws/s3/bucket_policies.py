"""Bucket policies are kept and described, but decide nothing, like all of IAM here.

moto applies them without their conditions: the CDK's usual `Deny` of requests without TLS would refuse every request.
"""

from __future__ import annotations

from typing import Any

from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket


def install() -> None:
    """Let moto's buckets neither allow nor deny by their policy."""
    FakeBucket.get_permission = _neutral


def _neutral(bucket: Any, action: str, resource: str) -> PermissionResult:
    del bucket, action, resource
    return PermissionResult.NEUTRAL
