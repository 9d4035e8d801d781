"""The run of one job, in a thread of its own: attempts, nodes, and what ends them."""

from __future__ import annotations

import queue
import random
import shutil
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mnp.local_aws.batch.job import now_ms
from mnp.local_aws.clients import ACCOUNT_ID
from mnp.local_aws.executor import node_environment
from mnp.local_aws.executor.errors import StartContainerError
from mnp.local_aws.executor.log_stream import open_stream
from mnp.local_aws.executor.node_process import NodeProcess
from mnp.local_aws.executor.retry import retries
from mnp.local_aws.executor.task_endpoints import Task

if TYPE_CHECKING:
    from mnp.local_aws.batch.job import Job, Node
    from mnp.local_aws.batch.state import State
    from mnp.local_aws.clients import Clients
    from mnp.local_aws.executor.isolation import Isolation
    from mnp.local_aws.executor.task_endpoints import TaskEndpoints

EXITED = "Essential container in task exited"
TIMED_OUT = "Job attempt duration exceeded timeout"
_STOPPED_WITH_MAIN = "Stopped: the main node exited"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What every run needs of the server."""

    state: State
    clients: Clients
    endpoints: TaskEndpoints
    isolation: Isolation
    container_stop_timeout: float


class _Exit(NamedTuple):
    """A node's process has ended."""

    node: int
    code: int


class _End(NamedTuple):
    """The job is to end: by TerminateJob, or because the server stops."""

    reason: str
    grace: float


class JobRun:
    """Runs one job to its end. The scheduler starts it once there is room."""

    def __init__(self, machine: Machine, job: Job, *, queue_name: str, environment: dict[str, str]) -> None:
        self._machine, self._job = machine, job
        self._queue_name = queue_name
        self._environment_name, self._cluster_arn = environment["name"], environment["cluster"]
        self._events: queue.SimpleQueue[_Exit | _End] = queue.SimpleQueue()
        self._processes: dict[int, NodeProcess] = {}
        self._tasks: list[str] = []
        self._stopped_with_main: set[int] = set()
        self._folder = Path()
        self.thread = threading.Thread(target=self._run, name=f"job {job.job_id}", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def end(self, reason: str, *, grace: float | None = None) -> None:
        """End the job on all nodes; it is FAILED with this reason and not retried."""
        self._events.put(_End(reason, self._machine.container_stop_timeout if grace is None else grace))

    def _run(self) -> None:
        job, attempt = self._job, 1
        try:
            while self._attempt(attempt):
                attempt += 1
        except Exception as error:
            # A fault of ours: the job must not hang in RUNNING, and the traceback must be seen.
            for process in self._processes.values():
                process.kill()
            with self._machine.state.changed:
                job.fail(f"The embedded AWS failed: {error!r}")
                self._machine.state.changed.notify_all()
            raise
        with self._machine.state.changed:
            main = job.nodes[job.main_node].progress
            job.progress.status = main.status
            self._machine.state.changed.notify_all()

    def _attempt(self, attempt: int) -> bool:
        """Run one attempt and return whether another one follows."""
        job = self._job
        addresses = self._machine.isolation.addresses(job.job_id, len(job.nodes))
        self._folder = Path(tempfile.mkdtemp(prefix=f"mnp-job-{job.job_id[:8]}-"))
        try:
            with self._machine.state.changed:
                job.progress.begin_attempt()
                for node in job.nodes:
                    node.progress.begin_attempt()
            ended = self._run_nodes(attempt, addresses)
        finally:
            self._machine.isolation.release(job.job_id)
            shutil.rmtree(self._folder, ignore_errors=True)
        return self._settle(attempt, ended)

    def _run_nodes(self, attempt: int, addresses: list[str]) -> str | None:
        """Run the nodes until the job ends; return the reason if something else than the main node ended it."""
        job = self._job
        main = job.nodes[job.main_node]
        started = time.monotonic()
        if self._start(main, attempt, addresses):
            with self._machine.state.changed:
                job.progress.status, job.progress.started_at = "RUNNING", main.progress.started_at
            children = [node for node in job.nodes if node is not main]
            random.shuffle(children)
            for node in children:
                self._start(node, attempt, addresses)
        reason, grace = self._wait_for_end(started)
        self._stopped_with_main = set(self._processes)
        for process in self._processes.values():
            process.stop(grace)
        while self._processes:
            event = self._events.get()
            if isinstance(event, _Exit):
                self._take_exit(event)
            elif not event.grace:
                for process in self._processes.values():
                    process.kill()
        return reason

    def _wait_for_end(self, started: float) -> tuple[str | None, float]:
        job, grace = self._job, self._machine.container_stop_timeout
        while job.main_node in self._processes:
            left = None
            if job.timeout_seconds is not None:
                left = max(0.0, started + job.timeout_seconds - time.monotonic())
            try:
                event = self._events.get(timeout=left)
            except queue.Empty:
                return TIMED_OUT, grace
            if isinstance(event, _End):
                return event
            self._take_exit(event)
        return None, grace

    def _take_exit(self, event: _Exit) -> None:
        del self._processes[event.node]
        progress = self._job.nodes[event.node].progress
        with self._machine.state.changed:
            progress.container["exitCode"] = event.code
            progress.status = "SUCCEEDED" if event.code == 0 else "FAILED"
            progress.stopped_at = now_ms()

    def _start(self, node: Node, attempt: int, addresses: list[str]) -> bool:
        """Start one node; return False, its reason taken down, if its container cannot start."""
        job, clients = self._job, self._machine.clients
        task_id = uuid.uuid4().hex
        try:
            log = open_stream(
                clients,
                job.region,
                container=node.container,
                definition_name=job.definition_name,
                task_id=task_id,
            )
            home = self._home(node)
            variables = self._variables(node, attempt, addresses, task_id, home)
        except StartContainerError as error:
            with self._machine.state.changed:
                node.progress.status = "FAILED"
                node.progress.container["reason"] = str(error)
            return False
        with self._machine.state.changed:
            node.progress.container |= {
                "logStreamName": log.name,
                "taskArn": self._task_arn(task_id),
                "networkInterfaces": [{"privateIpv4Address": addresses[node.index]}],
            }
            node.progress.status, node.progress.started_at = "RUNNING", now_ms()
        self._processes[node.index] = NodeProcess(
            self._machine.isolation.command(job.job_id, node.index, node.container["command"]),
            environment=variables,
            folder=home,
            log=log,
            ended=lambda code: self._events.put(_Exit(node.index, code)),
        )
        return True

    def _home(self, node: Node) -> Path:
        if not node.container["command"]:
            raise StartContainerError("no command: the image's own is not known here, as no image is pulled")
        home = self._folder / f"node-{node.index}"
        (home / "tmp").mkdir(parents=True)
        return home

    def _variables(self, node: Node, attempt: int, addresses: list[str], task_id: str, home: Path) -> dict[str, str]:
        job, machine = self._job, self._machine
        endpoint_url = machine.isolation.endpoint_url(machine.clients.endpoint_url)
        task = Task(
            task_id=task_id,
            task_arn=self._task_arn(task_id),
            cluster_arn=self._cluster_arn,
            region=job.region,
            image=node.container["image"],
            address=addresses[node.index],
            role_arn=node.container.get("jobRoleArn"),
        )
        secrets = node_environment.secret_variables(machine.clients, job.region, node)
        self._tasks.append(task_id)
        return {
            **node_environment.machine_variables(home),
            **node_environment.definition_variables(node),
            **secrets,
            **node_environment.batch_variables(
                job,
                node,
                attempt=attempt,
                addresses=addresses,
                queue=self._queue_name,
                environment=self._environment_name,
            ),
            **machine.endpoints.add(task, endpoint_url),
            **machine.isolation.environment(job.job_id, node.index),
            "AWS_ENDPOINT_URL": endpoint_url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "MNP_SIMULATED": "1",
        }

    def _task_arn(self, task_id: str) -> str:
        cluster = self._cluster_arn.rsplit("/", 1)[-1]
        return f"arn:aws:ecs:{self._job.region}:{ACCOUNT_ID}:task/{cluster}/{task_id}"

    def _settle(self, attempt: int, ended: str | None) -> bool:
        """Take the attempt down and return whether another one follows."""
        job = self._job
        for task_id in self._tasks:
            self._machine.endpoints.remove(task_id)
        self._tasks.clear()
        main = job.nodes[job.main_node].progress
        reason = ended or (EXITED if "exitCode" in main.container else "Task failed to start")
        with self._machine.state.changed:
            if ended:
                main.status = "FAILED"
            for node in job.nodes:
                with_main = ended is None and node.index in self._stopped_with_main
                node.progress.end_attempt(_STOPPED_WITH_MAIN if with_main else reason)
                if node.progress.status in {"STARTING", "RUNNING"}:
                    node.progress.status = "FAILED"
            job.progress.container = dict(main.container)
            job.progress.end_attempt(reason)
            job.progress.stopped_at = main.stopped_at
            again = (
                main.status == "FAILED"
                and not ended
                and retries(
                    job.retry_strategy,
                    attempt,
                    exit_code=main.container.get("exitCode"),
                    reason=main.container.get("reason", ""),
                    status_reason=reason,
                )
            )
            if again:
                job.progress.status = "RUNNABLE"
            return again
