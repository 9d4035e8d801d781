"""The environment of a node's process: nothing of the server's own but PATH and LANG.

Reference: https://docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html (checked 2026-11-21).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import botocore.exceptions

from mnp.local_aws.executor.errors import StartContainerError
from mnp.local_aws.secret_reference import secret_value

if TYPE_CHECKING:
    from mnp.local_aws.batch.job import Job, Node
    from mnp.local_aws.clients import Clients


def machine_variables(home: Path) -> dict[str, str]:
    """Return what the machine gives: this interpreter first on PATH, and folders of the node's own."""
    own = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join([own, os.environ.get("PATH", os.defpath)]),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
    }


def batch_variables(
    job: Job, node: Node, *, attempt: int, addresses: list[str], queue: str, environment: str
) -> dict[str, str]:
    """Return what Batch gives. The main node is not told its own address, as in AWS."""
    variables = {
        "AWS_BATCH_JOB_ID": f"{job.job_id}#{node.index}" if job.multinode else job.job_id,
        "AWS_BATCH_JOB_ATTEMPT": str(attempt),
        "AWS_BATCH_JQ_NAME": queue,
        "AWS_BATCH_CE_NAME": environment,
        "AWS_EXECUTION_ENV": "AWS_ECS_EC2",
    }
    if not job.multinode:
        return variables
    variables |= {
        "AWS_BATCH_JOB_NUM_NODES": str(len(job.nodes)),
        "AWS_BATCH_JOB_NODE_INDEX": str(node.index),
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": str(job.main_node),
    }
    if node.index != job.main_node:
        variables["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = addresses[job.main_node]
    return variables


def definition_variables(node: Node) -> dict[str, str]:
    """Return what the job definition and the submission give."""
    return {entry["name"]: entry.get("value", "") for entry in node.container.get("environment", [])}


def secret_variables(clients: Clients, region: str, node: Node) -> dict[str, str]:
    """Return the values of the container's secrets.

    Raises:
        StartContainerError: One cannot be read; the container does not start, as in ECS.
    """
    return {entry["name"]: _secret(clients, region, entry["valueFrom"]) for entry in node.container.get("secrets", [])}


def _secret(clients: Clients, region: str, reference: str) -> str:
    try:
        if reference.startswith("arn:") and reference.split(":")[2] == "secretsmanager":
            return secret_value(clients, region, reference)
        name = reference.split(":parameter", 1)[-1]
        answer = clients.get("ssm", region).get_parameter(Name=name, WithDecryption=True)
        return str(answer["Parameter"]["Value"])
    except botocore.exceptions.ClientError as error:
        reason = error.response["Error"].get("Message", "")
    except (KeyError, ValueError):
        reason = "the secret's value is not a JSON document with that key"
    raise StartContainerError(
        f"ResourceInitializationError: unable to pull secrets or registry auth: {reference}: {reason}"
    )
