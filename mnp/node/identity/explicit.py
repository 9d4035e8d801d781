"""Plain `MNP_*` variables, which anybody can set; they win over what an environment says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .claim import MOST_ATTEMPTS, MOST_NODES, Claim, number, picked

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES = {
    "job_id": "MNP_JOB_ID",
    "attempt": "MNP_ATTEMPT",
    "index": "MNP_NODE_INDEX",
    "main_index": "MNP_MAIN_INDEX",
    "count": "MNP_NODE_COUNT",
    "main": "MNP_MAIN_ADDRESS",
}


def read(environ: Mapping[str, str]) -> Claim | None:
    """What the user says, field by field; None if nothing. Raises IdentityError."""
    seen = picked(environ, VARIABLES.values())
    if not seen:
        return None
    return Claim(
        "MNP_* variables",
        VARIABLES,
        seen,
        job_id=seen.get(VARIABLES["job_id"]),
        attempt=number(seen, VARIABLES["attempt"], range(1, MOST_ATTEMPTS)),
        index=number(seen, VARIABLES["index"], range(MOST_NODES)),
        main_index=number(seen, VARIABLES["main_index"], range(MOST_NODES)),
        count=number(seen, VARIABLES["count"], range(1, MOST_NODES + 1)),
        main=seen.get(VARIABLES["main"]),
    )
