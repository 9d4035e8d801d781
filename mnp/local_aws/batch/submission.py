"""SubmitJob: a definition and a submission's overrides made into a job, or refused."""

from __future__ import annotations

import copy
import re
import uuid
from typing import TYPE_CHECKING, Any

from mnp.local_aws.batch import node_ranges
from mnp.local_aws.batch.errors import ClientException
from mnp.local_aws.batch.job import Job, Node
from mnp.local_aws.batch.job_definitions import check_environment, check_retry, check_timeout

if TYPE_CHECKING:
    from mnp.local_aws.batch.request import Request

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_PARAMETER = re.compile(r"Ref::([A-Za-z0-9_.-]+)")


def submit(request: Request) -> dict[str, Any]:
    asked = request.parameters
    if not _NAME.fullmatch(asked["jobName"]):
        raise ClientException(f"Job name {asked['jobName']!r} should match valid pattern: {_NAME.pattern}")
    if "arrayProperties" in asked:
        raise ClientException("array jobs are not modelled by the embedded AWS")
    queue = _queue(request)
    definition = request.region.job_definition(asked["jobDefinition"])
    if definition is None or definition["status"] != "ACTIVE":
        raise ClientException(f"JobDefinition {asked['jobDefinition']} does not exist or is not active")
    check_retry(asked.get("retryStrategy"))
    check_timeout(asked.get("timeout"))
    _check_dependencies(request)
    multinode = definition["type"] == "multinode"
    if multinode:
        _check_environments(request, queue)
    job = _job(request, definition, queue, _node_properties(asked, definition) if multinode else None)
    for node in job.nodes:
        check_environment(node.container.get("environment", []))
    request.region.jobs[job.job_id] = job
    request.set_tags(job.arn, asked.get("tags"))
    return {"jobId": job.job_id, "jobName": job.name, "jobArn": job.arn}


def _queue(request: Request) -> dict[str, Any]:
    name = request.parameters["jobQueue"]
    queue = request.region.job_queue(name)
    if queue is None:
        raise ClientException(f"Job Queue {name} does not exist")
    if queue["state"] != "ENABLED":
        raise ClientException(f"Job Queue {queue['jobQueueName']} is not enabled: it accepts no jobs")
    return queue


def _check_environments(request: Request, queue: dict[str, Any]) -> None:
    for environment in request.region.queue_environments(queue):
        kind = environment.get("computeResources", {}).get("type", environment["type"]).upper()
        if kind != "EC2":
            raise ClientException(
                f"Multinode parallel jobs are not supported on {kind} compute environments "
                f"({environment['computeEnvironmentName']} of job queue {queue['jobQueueName']})"
            )


def _check_dependencies(request: Request) -> None:
    for dependency in request.parameters.get("dependsOn") or []:
        if "jobId" not in dependency or "type" in dependency:
            raise ClientException("dependsOn entries need a jobId; types are for array jobs, which are not modelled")
        request.region.job(dependency["jobId"])


def _node_properties(asked: dict[str, Any], definition: dict[str, Any]) -> dict[str, Any]:
    if "containerOverrides" in asked:
        raise ClientException("Container overrides should not be set for multinode jobs: use nodeOverrides")
    return node_ranges.overridden(definition["nodeProperties"], asked.get("nodeOverrides") or {})


def _job(request: Request, definition: dict[str, Any], queue: dict[str, Any], nodes: dict[str, Any] | None) -> Job:
    asked, job_id = request.parameters, str(uuid.uuid4())
    if nodes is None:
        if "nodeOverrides" in asked:
            raise ClientException("Node overrides should only be set for multinode jobs")
        overrides = asked.get("containerOverrides") or {}
        containers = [node_ranges.overridden_container(definition["containerProperties"], overrides)]
    else:
        containers = node_ranges.containers(nodes)
    parameters = {**definition["parameters"], **(asked.get("parameters") or {})}
    timeout = asked.get("timeout") or definition.get("timeout") or {}
    return Job(
        job_id=job_id,
        arn=request.arn(f"job/{job_id}"),
        name=asked["jobName"],
        region=request.region_name,
        queue_arn=queue["jobQueueArn"],
        definition_arn=definition["jobDefinitionArn"],
        definition_name=definition["jobDefinitionName"],
        multinode=nodes is not None,
        nodes=[Node(index, _substituted(c, parameters)) for index, c in enumerate(containers)],
        main_node=nodes["mainNode"] if nodes else 0,
        node_properties=nodes,
        parameters=parameters,
        retry_strategy=asked.get("retryStrategy") or definition.get("retryStrategy") or {},
        timeout_seconds=timeout.get("attemptDurationSeconds"),
        depends_on=asked.get("dependsOn") or [],
        propagate_tags=asked.get("propagateTags", definition.get("propagateTags", False)),
    )


def _substituted(container: dict[str, Any], parameters: dict[str, str]) -> dict[str, Any]:
    """Return the container with `Ref::name` in its command replaced; a name without a parameter stays."""
    result = copy.deepcopy(container)
    result["command"] = [
        _PARAMETER.sub(lambda match: parameters.get(match[1], match[0]), word) for word in result.get("command", [])
    ]
    return result
