"""Whether a compute environment could ever run a job, and how much of it the job takes.

Batch leaves a job that no environment can run RUNNABLE, with a statusReason that begins with MISCONFIGURATION:.
Reference: https://docs.aws.amazon.com/batch/latest/userguide/job_stuck_in_runnable.html (checked 2026-11-21).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import botocore.exceptions

if TYPE_CHECKING:
    from mnp.local_aws.batch.job import Job
    from mnp.local_aws.clients import Clients

JOB_RESOURCE_REQUIREMENT = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"
COMPUTE_ENVIRONMENT_MAX_RESOURCE = "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"
# What `optimal` stands for here: one family is enough to run jobs of any usual size.
_OPTIMAL_FAMILY = "m5"


@dataclass(frozen=True)
class InstanceType:
    """What an instance has."""

    name: str
    vcpus: int
    memory_mib: int
    gpus: int


@dataclass(frozen=True)
class Room:
    """The vCPUs a job takes in an environment, or why it can never run there."""

    vcpus: int = 0
    misconfiguration: str | None = None


class Capacity:
    """Knows the instance types, asked of EC2 once each."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._known: dict[tuple[str, str], list[InstanceType]] = {}

    def room(self, job: Job, environment: dict[str, Any]) -> Room:
        """Return what `job` takes in a compute environment.

        A multinode job has its instances to itself; a job of one container takes what it asks for.
        """
        resources = environment.get("computeResources", {})
        if "FARGATE" in resources.get("type", ""):
            return self._limited(math.ceil(needs(job.nodes[0].container)[0]), resources)
        offered = [t for name in resources.get("instanceTypes", []) for t in self._types(job.region, name)]
        fitting = [t for t in offered if all(_fits(node.container, t) for node in job.nodes)]
        if not fitting:
            return Room(misconfiguration=JOB_RESOURCE_REQUIREMENT)
        if not job.multinode:
            return self._limited(math.ceil(needs(job.nodes[0].container)[0]), resources)
        return self._limited(len(job.nodes) * min(t.vcpus for t in fitting), resources)

    def _limited(self, vcpus: int, resources: dict[str, Any]) -> Room:
        if vcpus > resources["maxvCpus"]:
            return Room(misconfiguration=COMPUTE_ENVIRONMENT_MAX_RESOURCE)
        return Room(vcpus)

    def _types(self, region: str, name: str) -> list[InstanceType]:
        if (region, name) not in self._known:
            self._known[region, name] = self._ask(region, name)
        return self._known[region, name]

    def _ask(self, region: str, name: str) -> list[InstanceType]:
        ec2 = self._clients.get("ec2", region)
        if "." in name:
            try:
                found = ec2.describe_instance_types(InstanceTypes=[name])["InstanceTypes"]
            except botocore.exceptions.ClientError:
                return []
        else:
            family = _OPTIMAL_FAMILY if name.startswith(("optimal", "default")) else name
            only = [{"Name": "instance-type", "Values": [f"{family}.*"]}]
            pages = ec2.get_paginator("describe_instance_types").paginate(Filters=only)
            found = [entry for page in pages for entry in page["InstanceTypes"]]
        return [
            InstanceType(
                entry["InstanceType"],
                entry["VCpuInfo"]["DefaultVCpus"],
                entry["MemoryInfo"]["SizeInMiB"],
                sum(gpu["Count"] for gpu in entry.get("GpuInfo", {}).get("Gpus", [])),
            )
            for entry in found
        ]


def needs(container: dict[str, Any]) -> tuple[float, int, int]:
    """Return the vCPUs, the memory in MiB and the GPUs that a container asks for."""
    asked = {entry["type"]: entry["value"] for entry in container.get("resourceRequirements", [])}
    return (
        float(asked.get("VCPU", container.get("vcpus", 1))),
        int(asked.get("MEMORY", container.get("memory", 0))),
        int(asked.get("GPU", 0)),
    )


def _fits(container: dict[str, Any], kind: InstanceType) -> bool:
    vcpus, memory, gpus = needs(container)
    wanted = container.get("instanceType")
    return vcpus <= kind.vcpus and memory <= kind.memory_mib and gpus <= kind.gpus and wanted in {None, "", kind.name}
