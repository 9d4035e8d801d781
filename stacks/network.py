"""Where a cluster stands, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from mnp.cluster.model import Cluster
from mnp.cluster.vpc import ExistingVpc


@dataclass(frozen=True, kw_only=True)
class Network:
    """`default_security_group_id` is None where an existing VPC's was not given."""

    vpc: ec2.IVpc
    subnet_id: str
    default_security_group_id: str | None


def network_of(scope: Construct, cluster: Cluster, network: Network | None) -> Network:
    """The network that our stacks made, or the one that the file names.

    Of the latter nothing is looked up, so that synth needs no account.
    """
    if network is not None:
        return network
    if not isinstance(cluster.vpc, ExistingVpc):
        raise TypeError("a cluster in a new VPC needs the network of its NetworkStack")
    return Network(
        vpc=ec2.Vpc.from_vpc_attributes(
            scope,
            "Vpc",
            vpc_id=cluster.vpc.id,
            availability_zones=[cluster.availability_zone],
        ),
        subnet_id=cluster.vpc.subnet,
        default_security_group_id=cluster.vpc.default_security_group,
    )
