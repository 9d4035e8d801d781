"""Nodes that wait for a port of the main node before they start."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from . import programs

if TYPE_CHECKING:
    from .launch import Job, Launch

_PROGRAM = "await_port.py"
# Seconds until the main node's framework listens: reading PyTorch from a cold disk takes most of a minute. Its end is
# noticed at once; this is for one that goes on and never listens.
AWAIT_PORT_SECONDS = 300


def awaiting(launch: Launch, job: Job) -> Launch:
    """The launch with its `awaits_port` as the first command before it; on the main node as it is.

    A command, so that it is supervised as all else: it ends with the job, and a time-out is the node's failure.
    """
    if launch.awaits_port is None or job.is_main:
        return launch
    where = (str(job.roster.main_index), job.main_address, str(launch.awaits_port), str(AWAIT_PORT_SECONDS))
    command = (sys.executable, f"{job.folder}/{_PROGRAM}", *where)
    files = {**launch.files, _PROGRAM: programs.source(_PROGRAM)}
    return replace(launch, before=(command, *launch.before), files=files, awaits_port=None)
