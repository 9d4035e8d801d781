"""Whose name the making of an image acts in: the build host, and what deletes old images."""

from __future__ import annotations

import re

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from mnp.cluster.model import Cluster
from stacks.acknowledge import acknowledge, acknowledge_wildcards
from stacks.roles import PULL_ACTIONS

# What AWS requires of a build host:
# https://docs.aws.amazon.com/imagebuilder/latest/userguide/set-up-ib-env.html, checked 2026-11-21.
BUILD_POLICIES = ("EC2InstanceProfileForImageBuilder", "AmazonSSMManagedInstanceCore")
# https://docs.aws.amazon.com/imagebuilder/latest/userguide/image-lifecycle-prerequisites.html, checked 2026-11-21.
LIFECYCLE_POLICY = "service-role/EC2ImageBuilderLifecycleExecutionPolicy"
PRIVATE_REPOSITORY = re.compile(r"([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([^:@]+)")


class BuildRole(Construct):
    """What a build host may do: be built on, write the build's log, and pull the one image that it is to pull."""

    def __init__(self, scope: Construct, id_: str, *, cluster: Cluster) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in BUILD_POLICIES],
        )
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.role.role_name])
        acknowledge(
            self.role,
            "AWS's own policies for a build host and for Systems Manager, by which Image Builder drives it",
            *(f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]" for name in BUILD_POLICIES),
        )
        if cluster.bake and cluster.bake.pull_image:
            self._allow_pull(cluster.image)

    def _allow_pull(self, image: str) -> None:
        private = PRIVATE_REPOSITORY.match(image)
        if private is None:
            return
        account, region, repository = private.groups()
        arn = Stack.of(self).format_arn(
            service="ecr", account=account, region=region, resource="repository", resource_name=repository
        )
        self.role.add_to_policy(iam.PolicyStatement(actions=[*PULL_ACTIONS], resources=[arn]))
        self.role.add_to_policy(iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]))
        acknowledge_wildcards(self.role, "GetAuthorizationToken knows no resource", "*")


class LifecycleRole(Construct):
    """What Image Builder may do to delete images, their AMIs and snapshots: only to those that it made."""

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("imagebuilder.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(LIFECYCLE_POLICY)],
        )
        acknowledge(
            self.role,
            "AWS's own policy for this purpose, bound to what carries Image Builder's tag",
            f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{LIFECYCLE_POLICY}]",
        )
