"""What AWS Batch says about a multi-node job and its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnp.commands.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_batch import BatchClient

# DescribeJobs takes at most 100 ids:
# https://docs.aws.amazon.com/batch/latest/APIReference/API_DescribeJobs.html, checked 2026-11-21.
DESCRIBE_LIMIT = 100
_STATUSES_WITH_NODES = ("STARTING", "RUNNING", "SUCCEEDED", "FAILED")


@dataclass(frozen=True, kw_only=True)
class JobState:
    """One look at a job. `created_at` is seconds since the epoch; `exit_code` and `log_stream` are the main node's."""

    job_id: str
    status: str
    reason: str | None
    definition_arn: str
    created_at: float
    nodes: int
    nodes_running: int = 0
    log_stream: str | None = None
    exit_code: int | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in {"SUCCEEDED", "FAILED"}


class UnknownJobError(UsageError):
    """AWS Batch knows no job by that id."""


def look_at_job(batch: BatchClient, job_id: str) -> JobState:
    """Return the job's state now.

    Raises:
        UnknownJobError: Batch does not know the job: a wrong id, a job of long ago, or one submitted this moment.
    """
    jobs = batch.describe_jobs(jobs=[job_id])["jobs"]
    if not jobs:
        raise UnknownJobError(
            f"AWS Batch knows no job {job_id} in {batch.meta.region_name}.",
            fix="Check the id and --region; Batch forgets a job about a week after its end.",
        )
    job = jobs[0]
    has_nodes = "nodeProperties" in job and job["status"] in _STATUSES_WITH_NODES
    return job_state(job, _describe_nodes(batch, job_id, job["nodeProperties"]["numNodes"]) if has_nodes else [])


def _describe_nodes(batch: BatchClient, job_id: str, count: int) -> list[Any]:
    ids = [f"{job_id}#{index}" for index in range(count)]
    batches = (ids[first : first + DESCRIBE_LIMIT] for first in range(0, count, DESCRIBE_LIMIT))
    return [node for each in batches for node in batch.describe_jobs(jobs=each)["jobs"]]


def job_state(job: Any, nodes: Sequence[Any]) -> JobState:
    """Return the state that DescribeJobs' answers for the job and for its nodes (`id#0`, `id#1` ...) amount to."""
    shape = job.get("nodeProperties", {})
    main_id = f"{job['jobId']}#{shape.get('mainNode', 0)}"
    main: dict[str, Any] = next((node.get("container", {}) for node in nodes if node["jobId"] == main_id), {})
    return JobState(
        job_id=job["jobId"],
        status=job["status"],
        reason=job.get("statusReason"),
        definition_arn=job.get("jobDefinition", ""),
        created_at=job.get("createdAt", 0) / 1000,
        nodes=shape.get("numNodes", 1),
        nodes_running=sum(node["status"] == "RUNNING" for node in nodes),
        log_stream=main.get("logStreamName"),
        exit_code=main.get("exitCode"),
    )
