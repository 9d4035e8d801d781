"""The queue of the cluster: first in, first out, and nothing waits in it for ever."""

from __future__ import annotations

from aws_cdk import aws_batch as batch
from constructs import Construct

from mnp.cluster.model import Cluster
from mnp.cluster.names import queue_name

# A job that cannot run as it is asked for will not by waiting: AWS's shortest limit, ten minutes.
# https://docs.aws.amazon.com/batch/latest/APIReference/API_JobStateTimeLimitAction.html, checked 2026-11-21.
MISCONFIGURED_SECONDS = 600
MISCONFIGURATIONS = (
    "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
    "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
    "MISCONFIGURATION:SERVICE_ROLE_PERMISSIONS",
)
NO_CAPACITY = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"


class JobQueue(Construct):
    def __init__(self, scope: Construct, id_: str, *, cluster: Cluster, compute_environment_arn: str) -> None:
        super().__init__(scope, id_)
        limits = {
            NO_CAPACITY: cluster.max_queue_hours * 3600,
            **dict.fromkeys(MISCONFIGURATIONS, MISCONFIGURED_SECONDS),
        }
        self.queue = batch.CfnJobQueue(
            self,
            "Queue",
            job_queue_name=queue_name(cluster.name),
            priority=1,
            state="ENABLED",
            compute_environment_order=[
                batch.CfnJobQueue.ComputeEnvironmentOrderProperty(order=1, compute_environment=compute_environment_arn)
            ],
            job_state_time_limit_actions=[
                batch.CfnJobQueue.JobStateTimeLimitActionProperty(
                    action="CANCEL", state="RUNNABLE", reason=reason, max_time_seconds=seconds
                )
                for reason, seconds in limits.items()
            ],
        )
