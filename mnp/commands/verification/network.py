"""The nodes' subnet and security group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3

from mnp.cluster.contract import Contract
from mnp.cluster.model import Cluster
from mnp.commands.verification import Check

GROUP = "security group"


def checks(cluster: Cluster, contract: Contract, session: boto3.Session) -> Iterator[Check]:
    ec2 = session.client("ec2")
    for subnet in ec2.describe_subnets(SubnetIds=[contract.subnet_id])["Subnets"]:
        yield Check("subnet", "zone", cluster.availability_zone, subnet["AvailabilityZone"])
        yield Check("subnet", "gives public addresses", expected=False, found=subnet["MapPublicIpOnLaunch"])
    rules = ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [contract.security_group_id]}])[
        "SecurityGroupRules"
    ]
    for is_egress, direction in ((False, "from"), (True, "to")):
        found = any(_is_all_by_reference(rule, contract.security_group_id, is_egress=is_egress) for rule in rules)
        yield Check(GROUP, f"all traffic {direction} itself, by reference", expected=True, found=found)
    open_to = sorted({rule["CidrIpv4"] for rule in rules if not rule["IsEgress"] and rule.get("CidrIpv4")})
    yield Check(GROUP, "ranges that may come in", sorted(str(cidr) for cidr in cluster.ssh_cidrs), open_to)


def _is_all_by_reference(rule: Any, group_id: str, *, is_egress: bool) -> bool:
    return bool(
        rule["IsEgress"] == is_egress
        and rule["IpProtocol"] == "-1"
        and rule.get("ReferencedGroupInfo", {}).get("GroupId") == group_id
    )
