"""CreateJobQueue, UpdateJobQueue, DescribeJobQueues, DeleteJobQueue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnp.local_aws.batch.errors import ClientException

if TYPE_CHECKING:
    from mnp.local_aws.batch.request import Request

_MAX_ENVIRONMENTS = 3
_STATES = ("ENABLED", "DISABLED")
_TIME_LIMIT_SECONDS = (600, 86400)


def create(request: Request) -> dict[str, Any]:
    asked = request.parameters
    name = asked["jobQueueName"]
    if request.region.job_queue(name):
        raise ClientException(f"Object already exists: {name}")
    arn = request.arn(f"job-queue/{name}")
    queue = {
        "jobQueueName": name,
        "jobQueueArn": arn,
        "state": "ENABLED",
        "status": "VALID",
        "statusReason": "JobQueue Healthy",
        "jobStateTimeLimitActions": [],
    }
    _apply(request, queue, {"computeEnvironmentOrder": [], **asked})
    request.region.job_queues[arn] = queue
    request.set_tags(arn, asked.get("tags"))
    return {"jobQueueName": name, "jobQueueArn": arn}


def update(request: Request) -> dict[str, Any]:
    queue = request.region.job_queue(request.parameters["jobQueue"])
    if queue is None:
        raise ClientException(f"{request.parameters['jobQueue']} does not exist")
    _apply(request, queue, request.parameters)
    return {"jobQueueName": queue["jobQueueName"], "jobQueueArn": queue["jobQueueArn"]}


def describe(request: Request) -> dict[str, Any]:
    wanted = request.parameters.get("jobQueues") or []
    found = [
        {**queue, "tags": request.region.tags.get(arn, {})}
        for arn, queue in request.region.job_queues.items()
        if not wanted or arn in wanted or queue["jobQueueName"] in wanted
    ]
    return {"jobQueues": found}


def delete(request: Request) -> dict[str, Any]:
    queue = request.region.job_queue(request.parameters["jobQueue"])
    if queue is None:
        return {}
    if queue["state"] != "DISABLED":
        raise ClientException("Cannot delete, resource is not in DISABLED state")
    for job in request.region.jobs.values():
        if job.queue_arn == queue["jobQueueArn"] and not job.finished:
            request.scheduler.end(job, "Job queue deleted", terminate=True)
    del request.region.job_queues[queue["jobQueueArn"]]
    request.region.tags.pop(queue["jobQueueArn"], None)
    return {}


def _apply(request: Request, queue: dict[str, Any], asked: dict[str, Any]) -> None:
    if asked.get("state", "ENABLED") not in _STATES:
        raise ClientException(f"state {asked['state']!r} must be one of {', '.join(_STATES)}")
    if "computeEnvironmentOrder" in asked:
        queue["computeEnvironmentOrder"] = _environments(request, asked["computeEnvironmentOrder"])
    for action in asked.get("jobStateTimeLimitActions") or []:
        _check_time_limit(action)
    for name in ("priority", "state", "jobStateTimeLimitActions", "schedulingPolicyArn"):
        if name in asked:
            queue[name] = asked[name]


def _environments(request: Request, order: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not 1 <= len(order) <= _MAX_ENVIRONMENTS:
        raise ClientException(f"a job queue has 1 to {_MAX_ENVIRONMENTS} compute environments, not {len(order)}")
    result = []
    for entry in order:
        environment = request.region.compute_environment(entry["computeEnvironment"])
        if environment is None:
            raise ClientException(f"Compute environment {entry['computeEnvironment']} does not exist")
        arn = environment["computeEnvironmentArn"]
        result.append({"order": entry["order"], "computeEnvironment": arn})
    return result


def _check_time_limit(action: dict[str, Any]) -> None:
    low, high = _TIME_LIMIT_SECONDS
    if not low <= action["maxTimeSeconds"] <= high:
        raise ClientException(
            f"jobStateTimeLimitActions.maxTimeSeconds {action['maxTimeSeconds']} must be between {low} and {high}"
        )
    if (action["state"], action["action"]) != ("RUNNABLE", "CANCEL"):
        raise ClientException("jobStateTimeLimitActions know the state RUNNABLE and the action CANCEL only")
