"""Whose name the parts of a cluster act in: the instance, the start of a task, the job itself."""

from __future__ import annotations

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from mnp.cluster.names import LOG_GROUP, RESULTS_PREFIX
from stacks.acknowledge import acknowledge, acknowledge_wildcards

# What AWS requires of an ECS instance, and Session Manager in place of SSH:
# https://docs.aws.amazon.com/batch/latest/userguide/instance_IAM_role.html, checked 2026-11-21.
INSTANCE_POLICIES = ("service-role/AmazonEC2ContainerServiceforEC2Role", "AmazonSSMManagedInstanceCore")

# What a pull of an image from one repository of ECR takes, beside a token for the registry.
PULL_ACTIONS = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")


class InstanceRole(Construct):
    """What a node may do as an EC2 instance; its containers cannot reach these credentials."""

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in INSTANCE_POLICIES],
        )
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.role.role_name])
        acknowledge(
            self.role,
            "AWS's own policies for an ECS instance and for Session Manager; AWS keeps them in step with the agents",
            *(f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]" for name in INSTANCE_POLICIES),
        )


class ExecutionRole(Construct):
    """What ECS does before the job's own code runs: fetch the image and the secret, open the log stream."""

    def __init__(self, scope: Construct, id_: str, *, secret: secretsmanager.ISecret) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(self, "Role", assumed_by=tasks_of(self))
        secret.grant_read(self.role)
        streams = log_streams_arn(self)
        repositories = Stack.of(self).format_arn(service="ecr", resource="repository", resource_name="*")
        write_logs = ["logs:CreateLogStream", "logs:PutLogEvents"]
        self.role.add_to_policy(iam.PolicyStatement(actions=write_logs, resources=[streams]))
        self.role.add_to_policy(iam.PolicyStatement(actions=[*PULL_ACTIONS], resources=[repositories]))
        self.role.add_to_policy(iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]))
        acknowledge_wildcards(
            self.role,
            "GetAuthorizationToken knows no resource; any repository of this account and region may hold the image;"
            " log streams get names of Batch's making",
            "*",
            repositories,
            streams,
        )


class JobRole(Construct):
    """What the job's own code may do: read its program, read and write under the cluster's prefix."""

    def __init__(self, scope: Construct, id_: str, *, bucket: s3.IBucket, node_code: s3_assets.Asset) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(self, "Role", assumed_by=tasks_of(self))
        self.role.add_to_policy(
            iam.PolicyStatement(
                actions=["s3:GetObject"], resources=[node_code.bucket.arn_for_objects(node_code.s3_object_key)]
            )
        )
        objects = bucket.arn_for_objects(f"{RESULTS_PREFIX}/*")
        self.role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject", "s3:PutObject"], resources=[objects]))
        acknowledge_wildcards(
            self.role,
            "a job names its results by time and job id, so it may write any object under the cluster's own prefix",
            objects,
        )


def tasks_of(scope: Construct) -> iam.IPrincipal:
    """ECS tasks of this account: the condition keeps another account's tasks from borrowing the role."""
    return iam.ServicePrincipal(
        "ecs-tasks.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}}
    )


def log_streams_arn(scope: Construct) -> str:
    """Every stream of the group that Batch's jobs log to."""
    return Stack.of(scope).format_arn(
        service="logs", resource="log-group", resource_name=f"{LOG_GROUP}:*", arn_format=ArnFormat.COLON_RESOURCE_NAME
    )
