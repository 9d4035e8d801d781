"""Which job runs when: each queue first in, first out, as many at once as its environments' maxvCpus allow."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from mnp.local_aws.batch.job import BEFORE_STARTING, Job
from mnp.local_aws.executor.capacity import Capacity
from mnp.local_aws.executor.job_run import JobRun, Machine

if TYPE_CHECKING:
    from mnp.local_aws.batch.state import Region

_STOP_SECONDS = 10


class Scheduler:
    """One thread that moves jobs from SUBMITTED on. It sleeps until something changed or a time limit is due."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._state = machine, machine.state
        self._capacity = Capacity(machine.clients)
        self._runs: dict[str, JobRun] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name="batch scheduler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End every job at once and wait until their processes are gone."""
        with self._state.changed:
            self._stopping = True
            runs = list(self._runs.values())
            self._state.changed.notify_all()
        for run in runs:
            run.end("The embedded AWS was stopped", grace=0)
        self._thread.join(_STOP_SECONDS)
        for run in runs:
            run.thread.join(_STOP_SECONDS)

    def end(self, job: Job, reason: str, *, terminate: bool) -> None:
        """Cancel a job, or terminate it. A cancelled job that has started goes on; a finished one is left alone."""
        with self._state.changed:
            if job.job_id not in self._runs and job.progress.status in BEFORE_STARTING:
                job.is_cancelled, job.is_terminated = not terminate, terminate
                job.fail(reason)
            elif terminate and not job.finished and not job.is_terminated:
                job.is_terminated = True
                self._runs[job.job_id].end(reason)
            self._state.changed.notify_all()

    def _loop(self) -> None:
        with self._state.changed:
            while not self._stopping:
                self._forget_finished()
                limits = [self._advance(region) for region in self._state.regions.values()]
                self._state.changed.wait(min((limit for limit in limits if limit is not None), default=None))

    def _forget_finished(self) -> None:
        for job_id in [job_id for job_id, run in self._runs.items() if not run.thread.is_alive()]:
            del self._runs[job_id]

    def _advance(self, region: Region) -> float | None:
        """Move the region's jobs on; return the seconds until the next time limit, if there is one."""
        for job in region.jobs.values():
            if job.progress.status in {"SUBMITTED", "PENDING"}:
                _resolve_dependencies(region, job)
        queues = sorted(region.job_queues.values(), key=lambda queue: -int(queue["priority"]))
        limits = [self._advance_queue(region, queue) for queue in queues]
        return min((limit for limit in limits if limit is not None), default=None)

    def _advance_queue(self, region: Region, queue: dict[str, Any]) -> float | None:
        waiting = [
            job
            for job in region.jobs.values()
            if job.queue_arn == queue["jobQueueArn"]
            and job.progress.status == "RUNNABLE"
            and job.job_id not in self._runs
        ]
        for job in waiting:
            if not self._place(region, queue, job):
                left = _time_left(queue, job)
                if left is None or left > 0:
                    return left
                job.is_cancelled = True
                job.fail(str(job.progress.status_reason))
        return None

    def _place(self, region: Region, queue: dict[str, Any], job: Job) -> bool:
        """Start the job in the first environment with room for it; else say why it waits."""
        reasons: list[str | None] = []
        for environment in region.queue_environments(queue):
            if environment["state"] != "ENABLED":
                continue
            room = self._capacity.room(job, environment)
            reasons.append(room.misconfiguration)
            taken = sum(
                other.vcpus
                for other in region.jobs.values()
                if other.compute_environment_arn == environment["computeEnvironmentArn"]
                and other.job_id in self._runs
                and not other.finished
            )
            if not room.misconfiguration and taken + room.vcpus <= environment["computeResources"]["maxvCpus"]:
                self._start(job, queue, environment, room.vcpus)
                return True
        blocked = bool(reasons) and all(reasons)
        job.progress.status_reason = reasons[0] if blocked else None
        return False

    def _start(self, job: Job, queue: dict[str, Any], environment: dict[str, Any], vcpus: int) -> None:
        job.vcpus, job.compute_environment_arn = vcpus, environment["computeEnvironmentArn"]
        job.progress.status, job.progress.status_reason = "STARTING", None
        place = {"name": environment["computeEnvironmentName"], "cluster": environment["ecsClusterArn"]}
        run = JobRun(self._machine, job, queue_name=queue["jobQueueName"], environment=place)
        self._runs[job.job_id] = run
        run.start()


def _resolve_dependencies(region: Region, job: Job) -> None:
    needed = [region.jobs[entry["jobId"]] for entry in job.depends_on]
    if any(other.progress.status == "FAILED" for other in needed):
        job.fail("Dependent Job failed")
    elif all(other.progress.status == "SUCCEEDED" for other in needed):
        job.progress.status, job.runnable_since = "RUNNABLE", time.monotonic()
        for node in job.nodes:
            node.progress.status = "RUNNABLE"
    else:
        job.progress.status = "PENDING"


def _time_left(queue: dict[str, Any], job: Job) -> float | None:
    """Return the seconds until the queue cancels a job at its head, or None if it never does."""
    waited = time.monotonic() - (job.runnable_since or time.monotonic())
    limits = [
        action["maxTimeSeconds"] - waited
        for action in queue["jobStateTimeLimitActions"]
        if action["reason"] == job.progress.status_reason
    ]
    return min(limits, default=None)
