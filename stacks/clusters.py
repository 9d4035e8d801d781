"""The stacks of cluster files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from aws_cdk import App, Environment, Stack, Tags

from mnp.cluster.model import Cluster
from mnp.cluster.names import CLUSTER_TAG, NETWORK_TAG, cluster_stack_name, image_stack_name
from mnp.cluster.plan import network_stack
from mnp.cluster.vpc import ExistingVpc, SharedVpc
from stacks.cluster_stack import ClusterStack
from stacks.image_stack import ImageStack
from stacks.network_stack import NetworkStack

# CloudFormation can change these tags by replacement alone; nobody's new cost tag may end running jobs.
# Instances and volumes get the tags by the launch template.
TAGS_REPLACE = ("AWS::Batch::ComputeEnvironment", "AWS::EC2::PlacementGroup")


def add_cluster(app: App, cluster: Cluster, *, account: str | None) -> ClusterStack:
    """Add the cluster's stacks to the app, its network and image first where the file asks for them."""
    return add_clusters(app, [cluster], account=account)[0]


def add_clusters(app: App, clusters: Sequence[Cluster], *, account: str | None) -> list[ClusterStack]:
    """Add the stacks of all clusters; a VPC that several of them share is made once."""
    networks: dict[str, NetworkStack] = {}
    return [
        _add_cluster(app, cluster, networks, Environment(account=account, region=cluster.region))
        for cluster in clusters
    ]


def _add_cluster(
    app: App, cluster: Cluster, networks: dict[str, NetworkStack], environment: Environment
) -> ClusterStack:
    network_stack = _network(app, cluster, networks, environment)
    network = network_stack.network(cluster.availability_zone) if network_stack else None
    stack = ClusterStack(
        app,
        cluster_stack_name(cluster.name),
        cluster=cluster,
        network=network,
        env=environment,
        description=f"Multi-node GPU cluster {cluster.name} on AWS Batch, {cluster.instance_type}",
    )
    _tag(stack, cluster)
    if cluster.bake:
        image = ImageStack(
            app,
            image_stack_name(cluster.name),
            cluster=cluster,
            network=network,
            env=environment,
            description=f"Node image of the multi-node cluster {cluster.name}",
        )
        _tag(image, cluster)
        # The parameter with the image's id must be there, and be new, when the cluster is deployed.
        stack.add_stack_dependency(image)
    return stack


def _network(
    app: App, cluster: Cluster, networks: dict[str, NetworkStack], environment: Environment
) -> NetworkStack | None:
    """The stack of the cluster's VPC, made if no cluster before had it; None where the VPC is there already."""
    name, vpc = network_stack(cluster), cluster.vpc
    if name is None or isinstance(vpc, ExistingVpc):
        return None
    if name in networks:
        return networks[name]
    make = partial(NetworkStack, app, name, vpc=vpc, env=environment)
    if isinstance(vpc, SharedVpc):
        stack = make(availability_zones=vpc.zones, description=f"VPC {vpc.name}, shared by multi-node clusters")
        # Nothing of this one cluster: the stack must be the same from whichever file it is made.
        Tags.of(stack).add(NETWORK_TAG, vpc.name)
    else:
        zones = [cluster.availability_zone]
        stack = make(availability_zones=zones, description=f"Network of the multi-node cluster {cluster.name}")
        _tag(stack, cluster)
    networks[name] = stack
    return stack


def _tag(stack: Stack, cluster: Cluster) -> None:
    Tags.of(stack).add(CLUSTER_TAG, cluster.name)
    for key, value in cluster.tags.items():
        Tags.of(stack).add(key, value, exclude_resource_types=[*TAGS_REPLACE])
