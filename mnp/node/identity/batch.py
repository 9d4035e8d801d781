"""AWS Batch: multi-node parallel jobs, and any other job as one of one node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .claim import MOST_ATTEMPTS, MOST_NODES, Claim, listed, number
from .identity import IdentityError

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLES = {
    "job_id": "AWS_BATCH_JOB_ID",
    "attempt": "AWS_BATCH_JOB_ATTEMPT",
    "count": "AWS_BATCH_JOB_NUM_NODES",
    "index": "AWS_BATCH_JOB_NODE_INDEX",
    "main_index": "AWS_BATCH_JOB_MAIN_NODE_INDEX",
    "main": "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS",
}
_MULTI_NODE = ("count", "index", "main_index", "main")


def read(environ: Mapping[str, str]) -> Claim | None:
    """What AWS Batch says, or None outside of it.

    It gives every node all of these but the main node's address, which only the others get:
    https://docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html (checked 2026-11-21). Raises IdentityError.
    """
    seen = {name: value for name, value in environ.items() if name.startswith("AWS_BATCH_JOB_") and value}
    if not seen:
        return None
    job_id, _, suffix = seen.get(_VARIABLES["job_id"], "").partition("#")
    alone = not any(_VARIABLES[field] in seen for field in _MULTI_NODE)
    index = number(seen, _VARIABLES["index"], range(MOST_NODES))
    if suffix and not alone and suffix != str(index):
        raise IdentityError(f"AWS_BATCH_JOB_ID names node {suffix}, but the node index differs (seen: {listed(seen)})")
    return Claim(
        "AWS Batch",
        _VARIABLES,
        seen,
        job_id=job_id or None,
        attempt=number(seen, _VARIABLES["attempt"], range(1, MOST_ATTEMPTS)) or (1 if alone else None),
        index=0 if alone else index,
        main_index=0 if alone else number(seen, _VARIABLES["main_index"], range(MOST_NODES)),
        count=1 if alone else number(seen, _VARIABLES["count"], range(1, MOST_NODES + 1)),
        main=seen.get(_VARIABLES["main"]),
        metadata_uri=environ.get("ECS_CONTAINER_METADATA_URI_V4"),
    )
