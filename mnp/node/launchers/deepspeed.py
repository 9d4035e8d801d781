"""`deepspeed`: DeepSpeed's own launcher, started on every node, so that it needs no SSH."""

from __future__ import annotations

from .launch import Job, Launch


def deepspeed(job: Job) -> Launch:
    """The main node is node rank 0, and the store is at its address."""
    argv = (
        *("deepspeed", "--no_ssh", f"--hostfile={job.folder}/hostfile", f"--node_rank={job.rank}"),
        *(f"--master_addr={job.main_address}", f"--master_port={job.roster.master_port}"),
        *job.command,
    )
    return Launch(argv, files={"hostfile": job.hostfile}, awaits_port=job.roster.master_port)
