"""What takes jobs: the queue, the smoke test's job definition, the bucket of its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3

from mnp.cluster.contract import Contract
from mnp.cluster.model import Cluster
from mnp.commands.verification import Check

QUEUE = "job queue"
DEFINITION = "job definition"
BUCKET = "results bucket"


def checks(cluster: Cluster, contract: Contract, session: boto3.Session) -> Iterator[Check]:
    batch = session.client("batch")
    queues = batch.describe_job_queues(jobQueues=[contract.queue_arn])["jobQueues"]
    yield Check(QUEUE, "exists", expected=1, found=len(queues))
    for queue in queues:
        yield from _queue(cluster, contract, queue)
    definitions = batch.describe_job_definitions(jobDefinitions=[contract.smoke_job_definition_arn])["jobDefinitions"]
    yield Check(DEFINITION, "exists", expected=1, found=len(definitions))
    for definition in definitions:
        yield from _definition(cluster, contract, definition)
    yield from _bucket(contract, session)


def _queue(cluster: Cluster, contract: Contract, queue: Any) -> Iterator[Check]:
    yield Check(QUEUE, "state", "ENABLED", queue["state"])
    environments = [each["computeEnvironment"] for each in queue["computeEnvironmentOrder"]]
    yield Check(QUEUE, "compute environments", [contract.compute_environment_arn], environments)
    limits = {each["reason"]: each["maxTimeSeconds"] for each in queue.get("jobStateTimeLimitActions", [])}
    capacity = limits.get("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY")
    yield Check(QUEUE, "seconds that a job waits for capacity", cluster.max_queue_hours * 3600, capacity)
    misconfigured = sum(reason.startswith("MISCONFIGURATION:") for reason in limits)
    yield Check(QUEUE, "kinds of misconfigured jobs that it cancels", 3, misconfigured)


def _definition(cluster: Cluster, contract: Contract, definition: Any) -> Iterator[Check]:
    yield Check(DEFINITION, "type and status", ("multinode", "ACTIVE"), (definition["type"], definition["status"]))
    ranges = definition["nodeProperties"]["nodeRangeProperties"]
    yield Check(DEFINITION, "node ranges", ["0:"], [each["targetNodes"] for each in ranges])
    container = ranges[0]["container"]
    yield Check(DEFINITION, "image", cluster.image, container["image"])
    devices = container.get("linuxParameters", {}).get("devices", [])
    shape = contract.node
    expected = [f"/dev/infiniband/uverbs{index}" for index in range(shape.efa_devices)]
    expected += [f"/dev/neuron{index}" for index in range(shape.neuron_devices)]
    yield Check(DEFINITION, "devices", expected, [each["hostPath"] for each in devices])
    permissions = {tuple(each.get("permissions", ())) for each in devices}
    yield Check(DEFINITION, "permissions of the devices", {("READ", "WRITE", "MKNOD")}, permissions)
    limits = {each["name"]: (each["softLimit"], each["hardLimit"]) for each in container.get("ulimits", [])}
    yield Check(DEFINITION, "memlock", (-1, -1), limits.get("memlock"))
    wanted = {each["type"]: each["value"] for each in container.get("resourceRequirements", [])}
    whole_node = {"VCPU": str(shape.vcpus), "MEMORY": str(shape.memory_mib)}
    whole_node |= {"GPU": str(shape.gpus)} if shape.gpus else {}
    yield Check(DEFINITION, "resources of a node", whole_node, wanted)
    yield Check(DEFINITION, "job role", contract.job_role_arn, container.get("jobRoleArn"))


def _bucket(contract: Contract, session: boto3.Session) -> Iterator[Check]:
    s3 = session.client("s3")
    blocked = s3.get_public_access_block(Bucket=contract.bucket)["PublicAccessBlockConfiguration"]
    yield Check(BUCKET, "public access blocked", expected=True, found=all(blocked.values()))
    rules = s3.get_bucket_encryption(Bucket=contract.bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    yield Check(BUCKET, "encrypted", expected=True, found=bool(rules))
