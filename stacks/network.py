"""Where a cluster stands, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from mnp.cluster.model import ExistingVpc


@dataclass(frozen=True, kw_only=True)
class Network:
    """`default_security_group_id` is None where an existing VPC's was not given."""

    vpc: ec2.IVpc
    subnet_id: str
    default_security_group_id: str | None


def existing_network(scope: Construct, vpc: ExistingVpc, availability_zone: str) -> Network:
    """The file's ids as a network; nothing is looked up, so that synth needs no account."""
    return Network(
        vpc=ec2.Vpc.from_vpc_attributes(
            scope,
            "Vpc",
            vpc_id=vpc.id,
            availability_zones=[availability_zone],
        ),
        subnet_id=vpc.subnet,
        default_security_group_id=vpc.default_security_group,
    )
