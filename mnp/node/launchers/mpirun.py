"""`mpirun`: Open MPI, version 4 or 5."""

from __future__ import annotations

from .launch import Job, Launch

# Containers run as root, which mpirun refuses unless told twice.
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpirun(job: Job) -> Launch:
    """Runs mpirun on the main node; the others serve its daemons over SSH. Ranks are dense on each node, and unbound.

    The ranks have MASTER_ADDR and MASTER_PORT too, which programs with torch.distributed take beside MPI's ranks.
    """
    nodes = len(job.roster.cards)
    environ = {**_AS_ROOT, "MASTER_ADDR": job.main_address, "MASTER_PORT": str(job.roster.master_port)}
    if not job.is_main:
        return Launch((), environ, needs_ssh=True)
    argv = (
        *("mpirun", "--hostfile", f"{job.folder}/hostfile", "-np", str(nodes * job.processes)),
        *("--map-by", "slot", "--bind-to", "none"),
        *job.command,
    )
    return Launch(argv, environ, files={"hostfile": job.hostfile}, needs_ssh=nodes > 1)
