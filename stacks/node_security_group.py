"""The security group of the nodes: open to itself, by reference, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from mnp.cluster.rules import WORLD
from stacks.acknowledge import acknowledge
from stacks.network import Network

ALL = "-1"


class NodeSecurityGroup(Construct):
    """EFA needs all traffic from and to the group itself; a rule with an address range does not count.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html, checked 2026-11-21.

    AWS's words leave open whether the interface of a multi-node parallel task gets this group or the VPC's default
    group (https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html): the environment may name no groups beside a
    launch template with interfaces. So the two are joined both ways, and either reading works.
    """

    def __init__(self, scope: Construct, id_: str, *, network: Network, ssh_cidrs: Sequence[IPv4Network]) -> None:
        super().__init__(scope, id_)
        self.group = ec2.SecurityGroup(
            self,
            "Nodes",
            vpc=network.vpc,
            description="Nodes of a multi-node cluster: all traffic among themselves, EFA included",
            allow_all_outbound=True,
        )
        self.group_id = self.group.security_group_id
        self._allow("Itself", self.group_id, self.group_id, "EFA and everything else among the nodes")
        self._allow_ssh(ssh_cidrs)
        if network.default_security_group_id is not None:
            default = network.default_security_group_id
            self._allow("Default", self.group_id, default, "the interfaces of tasks, should they get the default group")
            self._allow("FromNodes", default, self.group_id, "nodes of a multi-node cluster")

    def _allow(self, name: str, group_id: str, other_id: str, what: str) -> None:
        """All traffic between the two, as rules of `group_id`; L2 would drop the egress rule of an open group."""
        ec2.CfnSecurityGroupIngress(
            self,
            f"{name}Ingress",
            group_id=group_id,
            source_security_group_id=other_id,
            ip_protocol=ALL,
            description=f"from {what}",
        )
        ec2.CfnSecurityGroupEgress(
            self,
            f"{name}Egress",
            group_id=group_id,
            destination_security_group_id=other_id,
            ip_protocol=ALL,
            description=f"to {what}",
        )

    def _allow_ssh(self, cidrs: Sequence[IPv4Network]) -> None:
        self.group.add_ingress_rule(self.group, ec2.Port.SSH, "SSH among the nodes, for MPI launchers")
        for cidr in cidrs:
            self.group.add_ingress_rule(ec2.Peer.ipv4(str(cidr)), ec2.Port.SSH, f"SSH from {cidr}")
        if WORLD in cidrs:
            acknowledge(self.group, "the cluster file says ssh_open_to_world: true", "AwsSolutions-EC23")
