"""`env`: the command itself, with variables that say who is who."""

from __future__ import annotations

from .launch import Job, Launch


def env(job: Job) -> Launch:
    """The command once per node, with torch.distributed's `env://` variables."""
    rank = str(job.rank)
    variables = {
        "RANK": rank,
        "WORLD_SIZE": str(len(job.roster.cards)),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "NODE_RANK": rank,
        "MASTER_ADDR": job.main_address,
        "MASTER_PORT": str(job.roster.master_port),
    }
    return Launch(tuple(job.command), variables)
