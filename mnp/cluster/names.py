"""The names that people type or look for; everything else gets a generated one."""

from __future__ import annotations

# Of a cluster and of a shared VPC: both are parts of stack names, and the cluster's of its queue's.
NAME_PATTERN = r"^[a-z][a-z0-9-]{0,38}[a-z0-9]$"
RESULTS_PREFIX = "mnp"
# Several clients (TorchX, redun, the ParallelCluster CLI) read no other group, and Batch makes it on first use.
LOG_GROUP = "/aws/batch/job"
CLUSTER_TAG = "mnp:cluster"
# On a shared VPC's resources in place of the cluster's tag.
NETWORK_TAG = "mnp:network"
# How the names of our stacks end that are not the cluster's own; no cluster's name may end so.
STACK_ENDINGS = ("-image", "-network", "-vpc")
# Where launch_templates/boot/scratch.sh mounts the node's NVMe disks.
SCRATCH = "/scratch"


def queue_name(cluster: str) -> str:
    return cluster


def smoke_job_definition_name(cluster: str) -> str:
    return f"{cluster}-smoke"


def cluster_stack_name(cluster: str) -> str:
    return f"mnp-{cluster}"


def network_stack_name(cluster: str) -> str:
    return f"mnp-{cluster}-network"


def shared_network_stack_name(vpc: str, region: str) -> str:
    """With the region, since equal names in two regions are two VPCs, and an app holds a stack's name once."""
    return f"mnp-{vpc}-{region}-vpc"


def image_stack_name(cluster: str) -> str:
    return f"mnp-{cluster}-image"


def image_parameter_name(cluster: str) -> str:
    """SSM parameter that holds the id of the newest prebaked image.

    Image Builder's service-linked role may write parameters under /imagebuilder/ and no others:
    https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSServiceRoleForImageBuilder.html, checked
    2026-11-21.
    """
    return f"/imagebuilder/mnp/{cluster}"
