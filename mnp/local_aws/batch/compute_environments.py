"""CreateComputeEnvironment, UpdateComputeEnvironment, DescribeComputeEnvironments, DeleteComputeEnvironment."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

import botocore.exceptions

from mnp.local_aws.batch.errors import ClientException

if TYPE_CHECKING:
    from mnp.local_aws.batch.request import Request

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_STATES = ("ENABLED", "DISABLED")
_RESOURCE_TYPES = ("EC2", "SPOT", "FARGATE", "FARGATE_SPOT", "ECS_MANAGED_INSTANCES")
_EXCLUSIVE = (
    "Either compute environment Security Groups or Network Interfaces in Launch template are exclusively allowed"
)


def create(request: Request) -> dict[str, Any]:
    """Create a compute environment; no service role means the service-linked one, as in AWS."""
    asked = request.parameters
    name, kind = asked["computeEnvironmentName"], asked["type"].upper()
    if not _NAME.fullmatch(name):
        raise ClientException(f"computeEnvironmentName {name!r} is invalid: letters, digits, - and _, up to 128")
    if request.region.compute_environment(name):
        raise ClientException(f"Object already exists: {name}")
    if kind not in {"MANAGED", "UNMANAGED"}:
        raise ClientException(f"type {asked['type']!r} must be one of MANAGED, UNMANAGED")
    resources = dict(asked.get("computeResources") or {})
    if kind == "MANAGED":
        check_resources(request, resources)
        resolve_launch_template(request, resources)
    arn = request.arn(f"compute-environment/{name}")
    default_role = "aws-service-role/batch.amazonaws.com/AWSServiceRoleForBatch"
    environment = {
        "computeEnvironmentName": name,
        "computeEnvironmentArn": arn,
        "type": kind,
        "state": _state(asked.get("state")),
        "status": "VALID",
        "statusReason": "ComputeEnvironment Healthy",
        "serviceRole": asked.get("serviceRole") or request.iam_arn(f"role/{default_role}"),
        "containerOrchestrationType": "ECS",
        "ecsClusterArn": request.arn(f"cluster/{name}_Batch_{uuid.uuid4()}", service="ecs"),
        "uuid": str(uuid.uuid4()),
        "updatePolicy": {"terminateJobsOnUpdate": False, "jobExecutionTimeoutMinutes": 30},
    }
    if kind == "MANAGED":
        environment["computeResources"] = resources
    request.region.compute_environments[arn] = environment
    request.set_tags(arn, asked.get("tags"))
    return {"computeEnvironmentName": name, "computeEnvironmentArn": arn}


def update(request: Request) -> dict[str, Any]:
    asked = request.parameters
    environment = _existing(request, asked["computeEnvironment"])
    changes = asked.get("computeResources") or {}
    if changes:
        resources = {**environment.get("computeResources", {}), **changes}
        resources.pop("updateToLatestImageVersion", None)
        check_resources(request, resources)
        resolve_launch_template(request, resources)
        environment["computeResources"] = resources
    if "state" in asked:
        environment["state"] = _state(asked["state"])
    if asked.get("serviceRole"):
        environment["serviceRole"] = asked["serviceRole"]
    if "updatePolicy" in asked:
        environment["updatePolicy"] = {**environment["updatePolicy"], **asked["updatePolicy"]}
    return {
        "computeEnvironmentName": environment["computeEnvironmentName"],
        "computeEnvironmentArn": environment["computeEnvironmentArn"],
    }


def describe(request: Request) -> dict[str, Any]:
    wanted = request.parameters.get("computeEnvironments") or []
    found = [
        {**environment, "tags": request.region.tags.get(arn, {})}
        for arn, environment in request.region.compute_environments.items()
        if not wanted or arn in wanted or environment["computeEnvironmentName"] in wanted
    ]
    return {"computeEnvironments": found}


def delete(request: Request) -> dict[str, Any]:
    environment = request.region.compute_environment(request.parameters["computeEnvironment"])
    if environment is None:
        return {}
    arn = environment["computeEnvironmentArn"]
    if environment["state"] != "DISABLED":
        raise ClientException("Cannot delete, resource is not in DISABLED state")
    for queue in request.region.job_queues.values():
        if environment in request.region.queue_environments(queue):
            raise ClientException(f"Cannot delete, found existing JobQueue relationship: {queue['jobQueueName']}")
    del request.region.compute_environments[arn]
    request.region.tags.pop(arn, None)
    return {}


def check_resources(request: Request, resources: dict[str, Any]) -> None:
    """Refuse compute resources that Batch refuses, or that name things that do not exist."""
    if not resources:
        raise ClientException("computeResources must be provided for a MANAGED compute environment")
    kind = resources["type"].upper()
    if kind not in _RESOURCE_TYPES:
        raise ClientException(f"computeResources.type {kind!r} must be one of {', '.join(_RESOURCE_TYPES)}")
    if not 0 <= resources.get("minvCpus", 0) <= resources["maxvCpus"]:
        raise ClientException(
            f"minvCpus {resources.get('minvCpus', 0)} must be at least 0 and at most maxvCpus {resources['maxvCpus']}"
        )
    if not resources.get("subnets"):
        raise ClientException("computeResources.subnets must be provided")
    ec2 = request.client("ec2")
    _lookup(lambda: ec2.describe_subnets(SubnetIds=resources["subnets"]))
    groups = resources.get("securityGroupIds") or []
    if groups:
        _lookup(lambda: ec2.describe_security_groups(GroupIds=groups))
    if "FARGATE" not in kind:
        _check_ec2(request, resources, groups)


def _check_ec2(request: Request, resources: dict[str, Any], groups: list[str]) -> None:
    if not resources.get("instanceRole"):
        raise ClientException("computeResources.instanceRole must be provided for EC2 compute resources")
    profile = resources["instanceRole"].rsplit("/", 1)[-1]
    _lookup(lambda: request.client("iam").get_instance_profile(InstanceProfileName=profile))
    if not resources.get("instanceTypes"):
        raise ClientException("computeResources.instanceTypes must be provided for EC2 compute resources")
    if resources.get("placementGroup"):
        names = [resources["placementGroup"]]
        _lookup(lambda: request.client("ec2").describe_placement_groups(GroupNames=names))
    interfaces = _launch_template_data(request, resources).get("NetworkInterfaces")
    if groups and interfaces:
        raise ClientException(_EXCLUSIVE)
    if not groups and not interfaces:
        raise ClientException(
            "computeResources.securityGroupIds must be provided unless the launch template has network interfaces"
        )


def resolve_launch_template(request: Request, resources: dict[str, Any]) -> None:
    """Fill in the version a launch template stands for when none is given: Batch then takes `$Default`."""
    if resources.get("launchTemplate"):
        _launch_template_data(request, resources)
        resources["launchTemplate"] = {"version": "$Default", **resources["launchTemplate"]}


def _launch_template_data(request: Request, resources: dict[str, Any]) -> dict[str, Any]:
    template = resources.get("launchTemplate")
    if not template:
        return {}
    name = {"LaunchTemplateId": template.get("launchTemplateId")}
    if name["LaunchTemplateId"] is None:
        name = {"LaunchTemplateName": template.get("launchTemplateName")}
    versions = [template.get("version") or "$Default"]
    ec2 = request.client("ec2")
    answer = _lookup(lambda: ec2.describe_launch_template_versions(**name, Versions=versions))
    if not answer["LaunchTemplateVersions"]:
        raise ClientException(f"the launch template {name} has no version {versions[0]}")
    data: dict[str, Any] = answer["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    return data


def _lookup(call: Any) -> Any:
    try:
        return call()
    except botocore.exceptions.ClientError as error:
        details = error.response["Error"]
        raise ClientException(f"{details.get('Message')} ({details.get('Code')})") from error


def _existing(request: Request, name: str) -> dict[str, Any]:
    environment = request.region.compute_environment(name)
    if environment is None:
        raise ClientException(f"{name} does not exist")
    return environment


def _state(state: str | None) -> str:
    if state is not None and state not in _STATES:
        raise ClientException(f"state {state!r} must be one of {', '.join(_STATES)}")
    return state or "ENABLED"
