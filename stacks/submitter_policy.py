"""The managed policy for whoever submits jobs to the cluster and watches them."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from mnp.cluster.contract import parameter_name
from mnp.cluster.names import RESULTS_PREFIX
from stacks.acknowledge import acknowledge_wildcards
from stacks.roles import log_streams_arn

# Batch and CloudWatch know no resource for these:
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsbatch.html, checked 2026-11-21.
DESCRIBING = (
    "batch:DescribeComputeEnvironments",
    "batch:DescribeJobDefinitions",
    "batch:DescribeJobQueues",
    "batch:DescribeJobs",
    "batch:ListJobs",
)


class SubmitterPolicy(Construct):
    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: str,
        queue_arn: str,
        bucket: s3.IBucket,
        passed_roles: Sequence[iam.IRole],
    ) -> None:
        super().__init__(scope, id_)
        stack = Stack.of(self)
        definitions = stack.format_arn(service="batch", resource="job-definition", resource_name="*")
        jobs = stack.format_arn(service="batch", resource="job", resource_name="*")
        parameter = stack.format_arn(service="ssm", resource="parameter", resource_name=parameter_name(cluster)[1:])
        streams = log_streams_arn(self)
        results = bucket.arn_for_objects(f"{RESULTS_PREFIX}/*")
        statements = (
            (DESCRIBING, ["*"]),
            (["batch:SubmitJob"], [queue_arn, definitions]),
            (["batch:RegisterJobDefinition"], [definitions]),
            (["batch:CancelJob", "batch:TerminateJob"], [jobs]),
            (["logs:FilterLogEvents", "logs:GetLogEvents"], [streams]),
            (["ssm:GetParameter"], [parameter]),
            (["s3:ListBucket"], [bucket.bucket_arn]),
            (["s3:GetObject"], [results]),
        )
        self.policy = iam.ManagedPolicy(
            self,
            "Policy",
            description=f"Submit jobs to the cluster {cluster} and watch them",
            statements=[iam.PolicyStatement(actions=[*actions], resources=arns) for actions, arns in statements],
        )
        self.policy.add_statements(
            iam.PolicyStatement(
                actions=["iam:PassRole"],
                resources=[role.role_arn for role in passed_roles],
                conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            )
        )
        acknowledge_wildcards(
            self.policy,
            "Batch's describe calls know no resource; clients register job definitions under names of their own;"
            " job ids, log streams and result names are made at run time",
            "*",
            definitions,
            jobs,
            streams,
            results,
        )
