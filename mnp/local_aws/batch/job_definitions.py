"""RegisterJobDefinition, DescribeJobDefinitions, DeregisterJobDefinition."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mnp.local_aws.batch import node_ranges
from mnp.local_aws.batch.errors import ClientException

if TYPE_CHECKING:
    from mnp.local_aws.batch.request import Request

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
_MAX_ATTEMPTS = 10
_MAX_RULES = 5
_MIN_TIMEOUT_SECONDS = 60
_KEPT = ("parameters", "retryStrategy", "timeout", "propagateTags", "schedulingPriority", "platformCapabilities")


def register(request: Request) -> dict[str, Any]:
    """Register the next revision of a job definition."""
    asked = request.parameters
    name, kind = asked["jobDefinitionName"], asked["type"]
    if not _NAME.fullmatch(name):
        raise ClientException(f"jobDefinitionName {name!r} is invalid: letters, digits, - and _, up to 128")
    if kind == "multinode":
        if "nodeProperties" not in asked:
            raise ClientException("nodeProperties must be provided for a multinode job definition")
        node_ranges.check(asked["nodeProperties"])
        described = [entry["container"] for entry in asked["nodeProperties"]["nodeRangeProperties"]]
    elif kind == "container":
        if "containerProperties" not in asked:
            raise ClientException("containerProperties must be provided (EKS and ecsProperties are not modelled)")
        described = [asked["containerProperties"]]
    else:
        raise ClientException(f"type {kind!r} must be one of container, multinode")
    for container in described:
        check_container(container)
    check_retry(asked.get("retryStrategy"))
    check_timeout(asked.get("timeout"))
    revisions = [
        int(definition["revision"])
        for definition in request.region.job_definitions.values()
        if definition["jobDefinitionName"] == name
    ]
    revision = max(revisions, default=0) + 1
    arn = request.arn(f"job-definition/{name}:{revision}")
    properties = "nodeProperties" if kind == "multinode" else "containerProperties"
    request.region.job_definitions[arn] = {
        "jobDefinitionName": name,
        "jobDefinitionArn": arn,
        "revision": revision,
        "status": "ACTIVE",
        "type": kind,
        "containerOrchestrationType": "ECS",
        "parameters": {},
        properties: asked[properties],
        **{key: asked[key] for key in _KEPT if key in asked},
    }
    request.set_tags(arn, asked.get("tags"))
    return {"jobDefinitionName": name, "jobDefinitionArn": arn, "revision": revision}


def describe(request: Request) -> dict[str, Any]:
    asked, region = request.parameters, request.region
    found = list(region.job_definitions.values())
    if asked.get("jobDefinitions"):
        exact = [region.job_definition(reference) for reference in asked["jobDefinitions"]]
        found = [definition for definition in exact if definition]
    if asked.get("jobDefinitionName"):
        found = [d for d in found if d["jobDefinitionName"] == asked["jobDefinitionName"]]
    if asked.get("status"):
        found = [definition for definition in found if definition["status"] == asked["status"]]
    found.sort(key=lambda definition: -int(definition["revision"]))
    return {"jobDefinitions": [{**d, "tags": region.tags.get(d["jobDefinitionArn"], {})} for d in found]}


def deregister(request: Request) -> dict[str, Any]:
    definition = request.region.job_definition(request.parameters["jobDefinition"])
    if definition is None:
        raise ClientException(f"Job definition {request.parameters['jobDefinition']} does not exist")
    definition["status"] = "INACTIVE"
    return {}


def check_container(container: dict[str, Any]) -> None:
    """Refuse a container without an image, vCPUs or memory, or with a variable in Batch's own name space."""
    if not container.get("image"):
        raise ClientException("Container properties must contain an image")
    requirements = {entry["type"]: entry["value"] for entry in container.get("resourceRequirements", [])}
    for kind, legacy in (("VCPU", "vcpus"), ("MEMORY", "memory")):
        if kind not in requirements and legacy not in container:
            raise ClientException(f"Container properties must have a resource requirement of type {kind}")
    check_environment(container.get("environment", []))


def check_environment(environment: list[dict[str, str]]) -> None:
    reserved = [entry["name"] for entry in environment if entry["name"].startswith("AWS_BATCH")]
    if reserved:
        raise ClientException(f"Environment variables must not start with AWS_BATCH: {', '.join(reserved)}")


def check_retry(strategy: dict[str, Any] | None) -> None:
    if not strategy:
        return
    if not 1 <= strategy.get("attempts", 1) <= _MAX_ATTEMPTS:
        raise ClientException(f"retryStrategy.attempts {strategy['attempts']} must be between 1 and {_MAX_ATTEMPTS}")
    rules = strategy.get("evaluateOnExit") or []
    if rules and "attempts" not in strategy:
        raise ClientException("retryStrategy.attempts must be given along with evaluateOnExit")
    if len(rules) > _MAX_RULES:
        raise ClientException(f"retryStrategy.evaluateOnExit holds at most {_MAX_RULES} rules, not {len(rules)}")
    for rule in rules:
        if rule["action"].upper() not in {"RETRY", "EXIT"}:
            raise ClientException(f"evaluateOnExit.action {rule['action']!r} must be RETRY or EXIT")


def check_timeout(timeout: dict[str, int] | None) -> None:
    seconds = (timeout or {}).get("attemptDurationSeconds")
    if seconds is not None and seconds < _MIN_TIMEOUT_SECONDS:
        raise ClientException(
            f"timeout.attemptDurationSeconds {seconds} must be at least {_MIN_TIMEOUT_SECONDS} seconds"
        )
