"""The stacks of a cluster file."""

from __future__ import annotations

from aws_cdk import App, Environment, Stack, Tags

from mnp.cluster.model import Cluster, NewVpc
from mnp.cluster.names import CLUSTER_TAG, cluster_stack_name, network_stack_name
from stacks.cluster_stack import ClusterStack
from stacks.network_stack import NetworkStack

# CloudFormation can change these tags by replacement alone; nobody's new cost tag may end running jobs.
# Instances and volumes get the tags by the launch template.
TAGS_REPLACE = ("AWS::Batch::ComputeEnvironment", "AWS::EC2::PlacementGroup")


def add_cluster(app: App, cluster: Cluster, *, account: str | None) -> ClusterStack:
    """Add the cluster's stacks to the app, its network first where the file asks for a new VPC."""
    environment = Environment(account=account, region=cluster.region)
    network = None
    if isinstance(cluster.vpc, NewVpc):
        network = NetworkStack(
            app,
            network_stack_name(cluster.name),
            vpc=cluster.vpc,
            availability_zone=cluster.availability_zone,
            env=environment,
            description=f"Network of the multi-node cluster {cluster.name}",
        )
    stack = ClusterStack(
        app,
        cluster_stack_name(cluster.name),
        cluster=cluster,
        network=network.network if network else None,
        env=environment,
        description=f"Multi-node GPU cluster {cluster.name} on AWS Batch, {cluster.instance_type}",
    )
    for each in (network, stack):
        if each is not None:
            _tag(each, cluster)
    return stack


def _tag(stack: Stack, cluster: Cluster) -> None:
    Tags.of(stack).add(CLUSTER_TAG, cluster.name)
    for key, value in cluster.tags.items():
        Tags.of(stack).add(key, value, exclude_resource_types=[*TAGS_REPLACE])
