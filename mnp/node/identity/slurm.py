"""Slurm: a job step with one task a node.

Source: "Output environment variables" of https://slurm.schedmd.com/srun.html and .../sbatch.html (checked 2026-11-21).
A batch script, too, has SLURM_NODEID=0, but it runs on the first node alone: only a step has SLURM_STEP_NODELIST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import explicit
from .claim import MOST_ATTEMPTS, MOST_NODES, Claim, listed, number, picked
from .hostlist import expand
from .identity import IdentityError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = (
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_RESTART_COUNT",
    "SLURM_NODEID",
    "SLURM_NNODES",
    "SLURM_JOB_NODELIST",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
)
_FIX = "start the command by srun --ntasks-per-node=1"
_STEP = f"SLURM_STEP_NODELIST ({_FIX})"
_VARIABLES = {"job_id": "SLURM_JOB_ID", "index": "SLURM_NODEID", "count": "SLURM_STEP_NUM_NODES", "main": _STEP}


def read(environ: Mapping[str, str]) -> Claim | None:
    """What Slurm says, or None outside of it. Raises IdentityError."""
    seen = picked(environ, _NAMES)
    if "SLURM_JOB_ID" not in seen:
        return None
    nodes = number(seen, "SLURM_NNODES", range(1, MOST_NODES + 1))
    count = number(seen, "SLURM_STEP_NUM_NODES", range(1, MOST_NODES + 1)) or nodes
    tasks = number(seen, "SLURM_STEP_NUM_TASKS", range(1, 2**31))
    if tasks is not None and count is not None and tasks != count:
        raise IdentityError(f"{tasks} tasks on {count} nodes: {listed(seen)}; {_FIX}")
    names = _names(seen, count) if not environ.get(explicit.VARIABLES["main"]) else []
    index = number(seen, "SLURM_NODEID", range(MOST_NODES))
    restarts = number(seen, "SLURM_RESTART_COUNT", range(MOST_ATTEMPTS - 1))
    # Outside of a step nothing says that the other nodes run this command too.
    in_step = "SLURM_STEP_NODELIST" in seen or count == 1
    return Claim(
        "Slurm",
        {**_VARIABLES, "index": "SLURM_NODEID" if in_step else _STEP},
        seen,
        job_id=".".join(filter(None, (seen["SLURM_JOB_ID"], seen.get("SLURM_STEP_ID")))),
        attempt=1 + (restarts or 0),
        index=(index or 0 if count == 1 else index) if in_step else None,
        main_index=0,
        count=count,
        main=names[0] if names else None,
        peer=names[1] if len(names) > 1 else None,
    )


def _names(seen: Mapping[str, str], count: int | None) -> list[str]:
    text = seen.get("SLURM_STEP_NODELIST")
    if text is None:
        return []
    try:
        names = expand(text, most=MOST_NODES)
    except ValueError as error:
        message = f"SLURM_STEP_NODELIST is {text!r}: {error}; set MNP_MAIN_ADDRESS to the main node's address"
        raise IdentityError(message) from None
    if count is not None and len(names) != count:
        raise IdentityError(f"SLURM_STEP_NODELIST names {len(names)} nodes, not {count} ({listed(seen)})")
    return names
