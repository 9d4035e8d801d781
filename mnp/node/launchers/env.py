"""`env`: the command itself, with variables that say who is who."""

from __future__ import annotations

import sys

from . import programs
from .launch import Job, Launch

_PROGRAM = "local_ranks.py"


def env(job: Job) -> Launch:
    """The command once per process of each node, with the variables that torchrun would set, and a host file.

    The first eight are torch.distributed's: https://docs.pytorch.org/docs/2.13/elastic/run.html (2026-11-21). The host
    file has a line `ADDRESS slots=PROCESSES` for each node in order of rank.
    """
    nodes = len(job.roster.cards)
    variables = {
        "RANK": str(job.rank * job.processes),
        "WORLD_SIZE": str(nodes * job.processes),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": str(job.processes),
        "GROUP_RANK": str(job.rank),
        "GROUP_WORLD_SIZE": str(nodes),
        "MASTER_ADDR": job.main_address,
        "MASTER_PORT": str(job.roster.master_port),
        "NODE_RANK": str(job.rank),
        "MNP_HOSTFILE": f"{job.folder}/hostfile",
    }
    files = {"hostfile": job.hostfile}
    if job.processes == 1:
        return Launch(tuple(job.command), variables, files=files)
    files[_PROGRAM] = programs.source(_PROGRAM)
    argv = (sys.executable, f"{job.folder}/{_PROGRAM}", str(job.processes), *job.command)
    return Launch(argv, variables, files=files)
