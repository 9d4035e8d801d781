"""Finds the result document of a smoke test: on the last line of the main node's log, else in S3."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from mnp.commands.errors import CommandError
from mnp.node.smoke_test.result import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_s3 import S3Client

    from mnp.cluster.contract import Contract
    from mnp.commands.smoke_job.log import MainLog
    from mnp.commands.smoke_job.watch import Pace, View

# CloudWatch Logs shows a line some seconds after it was written; S3 shows an object at once.
LATE_LOG_LOOKS = 4
CLOCK_TOLERANCE = timedelta(minutes=15)


def find_result(
    view: View,
    log: MainLog,
    s3: S3Client,
    contract: Contract,
    *,
    pace: Pace,
    pause_for: Callable[[float], None] = time.sleep,
) -> tuple[dict[str, Any], str] | None:
    """Return the ended job's result document and where it was found, or None if there is none anywhere.

    Raises:
        CommandError: The document was written by a newer version of the node code.
    """
    pause = pace.first
    for look in range(LATE_LOG_LOOKS):
        if look:
            pause_for(pause)
            pause = pace.next(pause)
            view = view.after(log.read(view.state.log_stream))
        # A log line may have been cut in transit, S3 denied to the node: either is enough.
        if (document := parse_result(view.result_line)) is not None:
            return document, f"the main node's log ({view.state.log_stream})"
        if (found := _find_object(s3, contract, view)) is not None:
            return found
    return None


def _find_object(s3: S3Client, contract: Contract, view: View) -> tuple[dict[str, Any], str] | None:
    folder = f"{contract.results_prefix}/smoke/{contract.cluster}/"
    oldest = datetime.fromtimestamp(view.state.created_at, UTC) - CLOCK_TOLERANCE
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=contract.bucket, Prefix=folder, StartAfter=f"{folder}{oldest:%Y%m%dT%H%M%SZ}"
    )
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    ours = [key for key in keys if key.endswith(f"-{view.state.job_id}.json")]
    if not ours:
        return None
    # The name begins with the time, so the last one is that of the last attempt.
    key = max(ours)
    body = s3.get_object(Bucket=contract.bucket, Key=key)["Body"].read().decode()
    document = parse_result(body)
    return (document, f"s3://{contract.bucket}/{key}") if document is not None else None


def parse_result(text: str | None) -> dict[str, Any] | None:
    """Return the document, or None for text that is not one; raises CommandError for a newer schema version."""
    try:
        document = json.loads(text or "")
    except json.JSONDecodeError:
        return None
    if not isinstance(document, dict) or not isinstance(document.get("verdict"), dict):
        return None
    if document.get("schema_version") != SCHEMA_VERSION:
        raise CommandError(
            f"the result has schema_version {document.get('schema_version')!r}; this mnp reads {SCHEMA_VERSION}.",
            fix="Use the version of mnp that deployed the cluster.",
        )
    return document
