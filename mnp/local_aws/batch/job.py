"""A submitted job and its nodes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

FINISHED = frozenset({"SUCCEEDED", "FAILED"})
BEFORE_STARTING = frozenset({"SUBMITTED", "PENDING", "RUNNABLE"})
STATUSES = ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED")


def now_ms() -> int:
    """Return the time as Batch gives it: milliseconds since 1970."""
    return int(time.time() * 1000)


@dataclass
class Progress:
    """How far a job, or one node of it, has come."""

    status: str = "SUBMITTED"
    status_reason: str | None = None
    started_at: int | None = None
    stopped_at: int | None = None
    # What the container says of itself: exitCode, reason, logStreamName, taskArn, networkInterfaces.
    container: dict[str, Any] = field(default_factory=dict)
    attempts: list[dict[str, Any]] = field(default_factory=list)

    def begin_attempt(self) -> None:
        self.status, self.status_reason = "STARTING", None
        self.started_at = self.stopped_at = None
        self.container = {}

    def end_attempt(self, reason: str) -> None:
        """Take down the attempt that just ended."""
        self.stopped_at = now_ms()
        self.status_reason = reason
        attempt: dict[str, Any] = {
            "container": dict(self.container),
            "stoppedAt": self.stopped_at,
            "statusReason": reason,
        }
        if self.started_at is not None:
            attempt["startedAt"] = self.started_at
        self.attempts.append(attempt)


@dataclass
class Node:
    """One node of a job: the container it runs, overrides applied, and its progress."""

    index: int
    container: dict[str, Any]
    progress: Progress = field(default_factory=Progress)


@dataclass(kw_only=True)
class Job:
    """A job. A job of one container has one node and `multinode` false."""

    job_id: str
    arn: str
    name: str
    region: str
    queue_arn: str
    definition_arn: str
    definition_name: str
    multinode: bool
    nodes: list[Node]
    main_node: int = 0
    node_properties: dict[str, Any] | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    retry_strategy: dict[str, Any] = field(default_factory=dict)
    timeout_seconds: int | None = None
    depends_on: list[dict[str, str]] = field(default_factory=list)
    propagate_tags: bool = False
    created_at: int = field(default_factory=now_ms)
    runnable_since: float | None = None
    vcpus: int = 0
    compute_environment_arn: str | None = None
    is_cancelled: bool = False
    is_terminated: bool = False
    progress: Progress = field(default_factory=Progress)

    @property
    def finished(self) -> bool:
        return self.progress.status in FINISHED

    def fail(self, reason: str) -> None:
        """End a job that never ran."""
        self.progress.status, self.progress.status_reason = "FAILED", reason
        self.progress.stopped_at = now_ms()
        for node in self.nodes:
            node.progress.status, node.progress.status_reason = "FAILED", reason
            node.progress.stopped_at = self.progress.stopped_at
