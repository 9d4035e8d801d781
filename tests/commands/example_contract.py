"""A contract for tests, with the values of a cluster named `demo`."""

from __future__ import annotations

from typing import Any

from mnp.cluster.contract import Contract
from mnp.cluster.node_shape import NodeShape

NODE = NodeShape(
    instance_type="p5.48xlarge", vcpus=192, gpus=8, memory_mib=1_887_436, shared_memory_mib=943_718, efa_devices=32
)


def example_contract(**changes: Any) -> Contract:
    """Return a contract with these fields changed."""
    cluster = changes.get("cluster", "demo")
    region = changes.get("region", "us-east-1")
    arn = f"arn:aws:batch:{region}:123456789012"
    fields: dict[str, Any] = {
        "cluster": cluster,
        "region": region,
        "account": "123456789012",
        "availability_zone": f"{region}a",
        "max_nodes": 4,
        "max_job_hours": 1,
        "queue_name": cluster,
        "queue_arn": f"{arn}:job-queue/{cluster}",
        "compute_environment_arn": f"{arn}:compute-environment/{cluster}",
        "smoke_job_definition_arn": f"{arn}:job-definition/{cluster}-smoke:1",
        "job_role_arn": "arn:aws:iam::123456789012:role/job",
        "execution_role_arn": "arn:aws:iam::123456789012:role/execution",
        "instance_role_arn": "arn:aws:iam::123456789012:role/instance",
        "bucket": f"{cluster}-results",
        "results_prefix": "results",
        "image": "example/image:1",
        "vpc_id": "vpc-0",
        "subnet_id": "subnet-0",
        "security_group_id": "sg-0",
        "placement_group": cluster,
        "launch_template_id": "lt-0",
        "secret_arn": f"arn:aws:secretsmanager:{region}:123456789012:secret:{cluster}",
        "log_group": "/aws/batch/job",
        "submitter_policy_arn": "arn:aws:iam::123456789012:policy/submit",
        "node": NODE,
    }
    return Contract(**{**fields, **changes})
