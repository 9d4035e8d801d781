"""What a deployed cluster tells other tools: stack outputs, and one SSM parameter with the same as JSON.

A field is never renamed, removed or given another meaning within a schema version; new fields may come, so a
reader ignores those that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mnp.cluster.node_shape import NodeShape

PARAMETER_PREFIX = "/mnp/"


def parameter_name(cluster: str) -> str:
    """Name of the SSM parameter that holds the contract of the cluster."""
    return f"{PARAMETER_PREFIX}{cluster}"


class Contract(BaseModel):
    """Version 1. ARNs are whole; `placement_group` is empty where a capacity block places the nodes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: Literal[1] = 1
    cluster: str
    region: str
    account: str
    availability_zone: str
    max_nodes: int
    max_job_hours: int
    queue_name: str
    queue_arn: str
    compute_environment_arn: str
    smoke_job_definition_arn: str = Field(description="The smoke test: one open node range, so numNodes is free.")
    job_role_arn: str
    execution_role_arn: str
    instance_role_arn: str
    bucket: str
    results_prefix: str = Field(description="Key prefix of smoke-test results in the bucket, no slash at the end.")
    image: str
    vpc_id: str
    subnet_id: str
    security_group_id: str
    placement_group: str
    launch_template_id: str
    secret_arn: str = Field(description="Secrets Manager secret from which each job's rendezvous key is derived.")
    log_group: str
    scratch: str = Field("", description="Folder of the host on its NVMe disks, to be mounted by jobs; empty: none.")
    submitter_policy_arn: str = Field(description="Managed policy for whoever submits and watches jobs.")
    node: NodeShape

    def flat(self) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Every value with its path, nested objects opened: (("node", "gpus"), 8)."""
        for key, value in self.model_dump().items():
            if isinstance(value, dict):
                yield from (((key, inner), each) for inner, each in value.items())
            else:
                yield (key,), value


def output_name(path: tuple[str, ...]) -> str:
    """Name of the stack output: ("node", "efa_devices") is NodeEfaDevices."""
    return "".join(word.capitalize() for part in path for word in part.split("_"))


def variable_name(path: tuple[str, ...]) -> str:
    """Name of the environment variable: ("node", "efa_devices") is MNP_NODE_EFA_DEVICES."""
    return "_".join(("MNP", *path)).upper()
