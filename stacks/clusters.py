"""The stacks of a cluster file."""

from __future__ import annotations

from aws_cdk import App, Environment, Tags

from mnp.cluster.model import Cluster, NewVpc
from mnp.cluster.names import CLUSTER_TAG, cluster_stack_name, network_stack_name
from stacks.cluster_stack import ClusterStack
from stacks.network_stack import NetworkStack


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
            for key, value in {CLUSTER_TAG: cluster.name, **cluster.tags}.items():
                Tags.of(each).add(key, value)
    return stack
