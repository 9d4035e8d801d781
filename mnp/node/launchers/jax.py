"""`jax`: the command once per node, with the variables of jax.distributed."""

from __future__ import annotations

from .launch import Job, Launch


def jax(job: Job) -> Launch:
    """One process per node, which uses all of the node's devices; process 0, on the main node, is the coordinator.

    `jax.distributed.initialize()` reads JAX_COORDINATOR_ADDRESS by itself, and the other two only from Slurm, MPI or
    Kubernetes: the program passes them on. Source: jax/_src/distributed.py of JAX 0.10.2, and
    https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html (2026-11-21).
    """
    variables = {
        "JAX_COORDINATOR_ADDRESS": f"{job.main_address}:{job.roster.master_port}",
        "JAX_NUM_PROCESSES": str(len(job.roster.cards)),
        "JAX_PROCESS_ID": str(job.rank),
    }
    return Launch(tuple(job.command), variables)
