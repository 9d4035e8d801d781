"""DescribeJobs, ListJobs, CancelJob, TerminateJob."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnp.local_aws.batch.errors import ClientException
from mnp.local_aws.batch.job import STATUSES, Job, Node, Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mnp.local_aws.batch.request import Request

_PAGE = 100


def describe(request: Request) -> dict[str, Any]:
    """Describe jobs by id or ARN; `id#N` is node N of a multinode job. Unknown ones are left out, as in AWS."""
    found = []
    for reference in request.parameters["jobs"]:
        job_id, _, index = reference.rsplit("/", 1)[-1].partition("#")
        job = request.region.jobs.get(job_id)
        if job is None or (index and not (job.multinode and index.isdigit() and int(index) < len(job.nodes))):
            continue
        detail = _node_detail(job, job.nodes[int(index)]) if index else _job_detail(job)
        found.append({**detail, "tags": request.region.tags.get(job.arn, {})})
    return {"jobs": found}


def list_jobs(request: Request) -> dict[str, Any]:
    """List jobs of a queue or nodes of a multinode job; without a status only the RUNNING ones, as in AWS."""
    asked = request.parameters
    if "multiNodeJobId" in asked:
        job = request.region.job(asked["multiNodeJobId"])
        summaries = [_node_summary(job, node) for node in job.nodes] if job.multinode else []
        summaries = [s for s in summaries if s["status"] == asked.get("jobStatus", "RUNNING")]
    elif "jobQueue" in asked:
        summaries = list(_queue_summaries(request))
    else:
        raise ClientException("ListJobs needs a jobQueue or a multiNodeJobId (array jobs are not modelled)")
    start = int(asked.get("nextToken") or 0)
    end = start + min(asked.get("maxResults") or _PAGE, _PAGE)
    result: dict[str, Any] = {"jobSummaryList": summaries[start:end]}
    if end < len(summaries):
        result["nextToken"] = str(end)
    return result


def cancel(request: Request) -> dict[str, Any]:
    """Cancel a job that has not started; one that has is left alone, as in AWS."""
    job = request.region.job(request.parameters["jobId"])
    request.scheduler.end(job, request.parameters["reason"], terminate=False)
    return {}


def terminate(request: Request) -> dict[str, Any]:
    """End a job, running or not; it ends FAILED and is not retried."""
    job = request.region.job(request.parameters["jobId"].partition("#")[0])
    request.scheduler.end(job, request.parameters["reason"], terminate=True)
    return {}


def _queue_summaries(request: Request) -> Iterable[dict[str, Any]]:
    asked = request.parameters
    queue = request.region.job_queue(asked["jobQueue"])
    if queue is None:
        raise ClientException(f"Job Queue {asked['jobQueue']} does not exist")
    status = asked.get("jobStatus", "RUNNING")
    if status not in STATUSES:
        raise ClientException(f"jobStatus {status!r} must be one of {', '.join(STATUSES)}")
    jobs = [job for job in request.region.jobs.values() if job.queue_arn == queue["jobQueueArn"]]
    for job in sorted(jobs, key=lambda job: job.created_at, reverse=True):
        if asked.get("filters"):
            if all(_matches(job, each) for each in asked["filters"]):
                yield _summary(job)
        elif job.progress.status == status:
            yield _summary(job)


def _matches(job: Job, wanted: dict[str, Any]) -> bool:
    name, values = wanted["name"], wanted["values"]
    if name == "BEFORE_CREATED_AT":
        return job.created_at < int(values[0])
    if name == "AFTER_CREATED_AT":
        return job.created_at > int(values[0])
    texts = {"JOB_NAME": job.name, "JOB_DEFINITION": job.definition_arn.rsplit("/", 1)[-1]}
    if name not in texts:
        raise ClientException(f"the filter {name!r} is not one of JOB_NAME, JOB_DEFINITION, BEFORE/AFTER_CREATED_AT")
    text = texts[name].lower()
    return any(
        text.startswith(value[:-1].lower()) if value.endswith("*") else text.split(":")[0] == value.lower()
        for value in values
    )


def _summary(job: Job) -> dict[str, Any]:
    result = {
        "jobId": job.job_id,
        "jobArn": job.arn,
        "jobName": job.name,
        "jobDefinition": job.definition_arn,
        "createdAt": job.created_at,
        **_progress(job.progress),
    }
    if job.multinode:
        result["nodeProperties"] = {"isMainNode": False, "numNodes": len(job.nodes)}
    container = {key: job.progress.container[key] for key in ("exitCode", "reason") if key in job.progress.container}
    return {**result, "container": container} if container else result


def _node_summary(job: Job, node: Node) -> dict[str, Any]:
    result = {
        "jobId": f"{job.job_id}#{node.index}",
        "jobArn": f"{job.arn}#{node.index}",
        "jobName": job.name,
        "jobDefinition": job.definition_arn,
        "createdAt": job.created_at,
        "nodeProperties": _node_place(job, node),
        **_progress(node.progress),
    }
    container = {key: node.progress.container[key] for key in ("exitCode", "reason") if key in node.progress.container}
    return {**result, "container": container} if container else result


def _job_detail(job: Job) -> dict[str, Any]:
    result = {**_common_detail(job), "jobId": job.job_id, "jobArn": job.arn, **_progress(job.progress)}
    result["attempts"] = job.progress.attempts
    if job.multinode:
        result["nodeProperties"] = job.node_properties
    else:
        result["container"] = {**job.nodes[0].container, **job.progress.container}
    return result


def _node_detail(job: Job, node: Node) -> dict[str, Any]:
    place = _node_place(job, node)
    return {
        **_common_detail(job),
        "jobId": f"{job.job_id}#{node.index}",
        "jobArn": f"{job.arn}#{node.index}",
        **_progress(node.progress),
        "attempts": node.progress.attempts,
        "nodeDetails": {"nodeIndex": place["nodeIndex"], "isMainNode": place["isMainNode"]},
        "container": {**node.container, **node.progress.container},
    }


def _common_detail(job: Job) -> dict[str, Any]:
    result: dict[str, Any] = {
        "jobName": job.name,
        "jobQueue": job.queue_arn,
        "jobDefinition": job.definition_arn,
        "createdAt": job.created_at,
        "retryStrategy": {"attempts": 1, **job.retry_strategy},
        "dependsOn": job.depends_on,
        "parameters": job.parameters,
        "propagateTags": job.propagate_tags,
        "platformCapabilities": ["EC2"],
        "isCancelled": job.is_cancelled,
        "isTerminated": job.is_terminated,
    }
    if job.timeout_seconds is not None:
        result["timeout"] = {"attemptDurationSeconds": job.timeout_seconds}
    return result


def _node_place(job: Job, node: Node) -> dict[str, Any]:
    return {"nodeIndex": node.index, "isMainNode": node.index == job.main_node, "numNodes": len(job.nodes)}


def _progress(progress: Progress) -> dict[str, Any]:
    named = {
        "status": progress.status,
        "statusReason": progress.status_reason,
        "startedAt": progress.started_at,
        "stoppedAt": progress.stopped_at,
    }
    return {name: value for name, value in named.items() if value is not None}
