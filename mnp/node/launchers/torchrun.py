"""`torchrun`: PyTorch's own launcher, static."""

from __future__ import annotations

import sys

from .launch import Job, Launch


def torchrun(job: Job) -> Launch:
    """The main node is node rank 0, and the store is at its address."""
    argv = [
        *(sys.executable, "-m", "torch.distributed.run"),
        f"--nnodes={len(job.roster.cards)}",
        f"--node-rank={job.rank}",
        f"--nproc-per-node={job.processes}",
        f"--master-addr={job.main_address}",
        f"--master-port={job.roster.master_port}",
        *job.command,
    ]
    # Nodes that find no store yet back off for seconds.
    return Launch(tuple(argv), awaits_port=job.roster.master_port)
