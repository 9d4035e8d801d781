"""The job definition of the smoke test: the whole of every node, as many nodes as the submitter says."""

from __future__ import annotations

import json
from typing import Any

from aws_cdk import aws_batch as batch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from mnp.cluster.names import RESULTS_PREFIX, SCRATCH, smoke_job_definition_name
from mnp.cluster.node_shape import NodeShape, node_shape
from stacks.node_code import NodeCode

Container = batch.CfnJobDefinition.ContainerPropertiesProperty

TIMEOUT_SECONDS = 30 * 60
# One range with an open end: only so may a submitter set numNodes.
# https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeOverrides.html, checked 2026-11-21.
ALL_NODES = "0:"


class SmokeJobDefinition(Construct):
    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: Cluster,
        region: str,
        bucket: s3.IBucket,
        secret: secretsmanager.ISecret,
        node_code: NodeCode,
        job_role: iam.IRole,
        execution_role: iam.IRole,
    ) -> None:
        super().__init__(scope, id_)
        shape = node_shape(catalogue()[cluster.instance_type], cluster.network_interfaces)
        container = Container(
            image=cluster.image,
            instance_type=cluster.instance_type,
            command=["python3", "-c", node_code.fetch_source, node_code.asset.s3_object_url, "smoke"],
            job_role_arn=job_role.role_arn,
            execution_role_arn=execution_role.role_arn,
            environment=_environment(cluster, region, bucket, shape),
            secrets=[batch.CfnJobDefinition.SecretProperty(name="MNP_SECRET", value_from=secret.secret_arn)],
            resource_requirements=_resources(shape),
            linux_parameters=_linux_parameters(shape),
            **_scratch(cluster),
            ulimits=[
                batch.CfnJobDefinition.UlimitProperty(name="memlock", soft_limit=-1, hard_limit=-1),
                batch.CfnJobDefinition.UlimitProperty(name="stack", soft_limit=67108864, hard_limit=67108864),
                batch.CfnJobDefinition.UlimitProperty(name="nofile", soft_limit=65536, hard_limit=65536),
            ],
            log_configuration=batch.CfnJobDefinition.LogConfigurationProperty(log_driver="awslogs"),
        )
        self.definition = batch.CfnJobDefinition(
            self,
            "Definition",
            type="multinode",
            job_definition_name=smoke_job_definition_name(cluster.name),
            propagate_tags=True,
            timeout=batch.CfnJobDefinition.TimeoutProperty(attempt_duration_seconds=TIMEOUT_SECONDS),
            retry_strategy=_retry_when_the_host_failed(),
            node_properties=batch.CfnJobDefinition.NodePropertiesProperty(
                main_node=0,
                num_nodes=2,
                node_range_properties=[
                    batch.CfnJobDefinition.NodeRangePropertyProperty(target_nodes=ALL_NODES, container=container)
                ],
            ),
        )


def _environment(
    cluster: Cluster, region: str, bucket: s3.IBucket, shape: NodeShape
) -> list[batch.CfnJobDefinition.EnvironmentProperty]:
    variables = {
        "MNP_CLUSTER": cluster.name,
        "MNP_RESULTS": f"s3://{bucket.bucket_name}/{RESULTS_PREFIX}",
        "MNP_NODE_SHAPE": json.dumps(shape.model_dump()),
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        # AWS's training images report their use otherwise: https://github.com/aws/deep-learning-containers
        "OPT_OUT_TRACKING": "true",
    }
    return [batch.CfnJobDefinition.EnvironmentProperty(name=name, value=value) for name, value in variables.items()]


def _resources(shape: NodeShape) -> list[batch.CfnJobDefinition.ResourceRequirementProperty]:
    requirements = {"VCPU": shape.vcpus, "MEMORY": shape.memory_mib} | ({"GPU": shape.gpus} if shape.gpus else {})
    return [
        batch.CfnJobDefinition.ResourceRequirementProperty(type=kind, value=str(amount))
        for kind, amount in requirements.items()
    ]


def _linux_parameters(shape: NodeShape) -> batch.CfnJobDefinition.LinuxParametersProperty:
    """Every EFA device, with the permissions that Batch's EFA page asks for, and every Trainium device.

    GPUs come as a resource, Trainium devices by path:
    https://docs.aws.amazon.com/batch/latest/userguide/efa.html and
    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference-task-def.html, checked 2026-11-21.
    """
    devices = [f"/dev/infiniband/uverbs{index}" for index in range(shape.efa_devices)]
    devices += [f"/dev/neuron{index}" for index in range(shape.neuron_devices)]
    return batch.CfnJobDefinition.LinuxParametersProperty(
        shared_memory_size=shape.shared_memory_mib,
        init_process_enabled=True,
        devices=[
            batch.CfnJobDefinition.DeviceProperty(
                host_path=device, container_path=device, permissions=["READ", "WRITE", "MKNOD"]
            )
            for device in devices
        ],
    )


def _scratch(cluster: Cluster) -> dict[str, Any]:
    """The host's scratch at the same path in the container."""
    if not cluster.scratch:
        return {}
    host = batch.CfnJobDefinition.VolumesHostProperty(source_path=SCRATCH)
    return {
        "volumes": [batch.CfnJobDefinition.VolumesProperty(name="scratch", host=host)],
        "mount_points": [
            batch.CfnJobDefinition.MountPointsProperty(source_volume="scratch", container_path=SCRATCH, read_only=False)
        ],
    }


def _retry_when_the_host_failed() -> batch.CfnJobDefinition.RetryStrategyProperty:
    """Retry what EC2 took away; a job that failed by itself would fail again, at a cluster's price.

    https://docs.aws.amazon.com/batch/latest/userguide/job_retries.html, checked 2026-11-21.
    """
    return batch.CfnJobDefinition.RetryStrategyProperty(
        attempts=3,
        evaluate_on_exit=[
            batch.CfnJobDefinition.EvaluateOnExitProperty(action="RETRY", on_status_reason="Host EC2*"),
            batch.CfnJobDefinition.EvaluateOnExitProperty(action="EXIT", on_reason="*"),
        ],
    )
