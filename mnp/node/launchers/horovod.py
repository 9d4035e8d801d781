"""`horovod`: horovodrun over gloo."""

from __future__ import annotations

from .launch import Job, Launch


def horovod(job: Job) -> Launch:
    """Runs horovodrun on the main node, which starts every process over SSH; the other nodes serve it."""
    if not job.is_main:
        return Launch((), needs_ssh=True)
    hosts = ",".join(f"{address}:{job.processes}" for address in job.addresses)
    interface = ("--network-interfaces", job.interface) if job.interface else ()
    count = str(len(job.addresses) * job.processes)
    argv = ("horovodrun", "--gloo", "-np", count, "-H", hosts, *interface, *job.command)
    return Launch(argv, needs_ssh=len(job.addresses) > 1)
