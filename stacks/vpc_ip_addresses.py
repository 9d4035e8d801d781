"""The cut of a VPC as the cluster model makes it, in the form that the CDK's VPC asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsii
from aws_cdk import aws_ec2 as ec2

from mnp.cluster.vpc import ManagedVpc

NODES = "Nodes"
PUBLIC = "Public"


@jsii.implements(ec2.IIpAddresses)
class VpcIpAddresses:
    """The CDK's own allocation goes by order, and moves a zone's subnets when another zone comes before it."""

    def __init__(self, vpc: ManagedVpc) -> None:
        self._vpc = vpc
        self._cuts = {NODES: vpc.node_subnet, PUBLIC: vpc.public_subnet}

    def allocate_vpc_cidr(self) -> ec2.VpcIpamOptions:
        return ec2.VpcIpamOptions(cidr_block=str(self._vpc.cidr))

    def allocate_subnets_cidr(
        self, *, requested_subnets: Sequence[ec2.RequestedSubnet | dict[str, Any]], vpc_cidr: str
    ) -> ec2.SubnetIpamOptions:
        del vpc_cidr
        return ec2.SubnetIpamOptions(allocated_subnets=[self._allocated(subnet) for subnet in requested_subnets])

    def _allocated(self, requested: ec2.RequestedSubnet | dict[str, Any]) -> ec2.AllocatedSubnet:
        subnet = ec2.RequestedSubnet(**requested) if isinstance(requested, dict) else requested
        cut = self._cuts[subnet.configuration.name]
        return ec2.AllocatedSubnet(cidr=str(cut(subnet.availability_zone)))
