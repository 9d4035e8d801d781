"""`torchrun`: PyTorch's own launcher, static, or with its c10d rendezvous for programs that restart their workers.

Options: https://docs.pytorch.org/docs/2.13/elastic/run.html (2026-11-21).
"""

from __future__ import annotations

import sys

from .launch import Job, Launch

_TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
# Seconds for all agents to join. They are started together once the store is up; what is left is reading PyTorch from a
# cold disk. The default is 600.
_JOIN_TIMEOUT = 180


def torchrun(job: Job) -> Launch:
    """The main node is node rank 0, and the store is at its address."""
    argv = [
        *_TORCHRUN,
        f"--nnodes={len(job.roster.cards)}",
        f"--node-rank={job.rank}",
        f"--nproc-per-node={job.processes}",
        f"--master-addr={job.main_address}",
        f"--master-port={job.roster.master_port}",
        *job.command,
    ]
    # Nodes that find no store yet back off for seconds.
    return Launch(tuple(argv), awaits_port=job.roster.master_port)


def torchrun_c10d(job: Job) -> Launch:
    """The store is on the main node; which node gets which rank is torchrun's choice.

    Every node says whether it is the host and what its address is: torchrun would look both up by host name, which a
    container's name server need not know. The store is this job's alone, so that any id will do.
    """
    argv = [
        *_TORCHRUN,
        f"--nnodes={len(job.roster.cards)}",
        f"--nproc-per-node={job.processes}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={job.main_address}:{job.roster.master_port}",
        "--rdzv-id=mnp",
        f"--rdzv-conf=is_host={str(job.is_main).lower()},join_timeout={_JOIN_TIMEOUT}",
        f"--local-addr={job.address}",
        *job.command,
    ]
    return Launch(tuple(argv), awaits_port=job.roster.master_port)
