"""The names that people type or look for; everything else gets a generated one."""

from __future__ import annotations

RESULTS_PREFIX = "mnp"
# Several clients (TorchX, redun, the ParallelCluster CLI) read no other group, and Batch makes it on first use.
LOG_GROUP = "/aws/batch/job"
CLUSTER_TAG = "mnp:cluster"
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
