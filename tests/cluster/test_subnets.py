from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnp.cluster.subnets import node_subnet, public_subnet, usable_addresses


@given(st.integers(16, 26))
def test_subnets_lie_in_the_vpc_and_do_not_meet(prefix: int) -> None:
    """Whatever the size of the VPC, nodes and NAT gateway have subnets of their own in it."""
    vpc = IPv4Network((0x0A000000, prefix))
    assert node_subnet(vpc).subnet_of(vpc)
    assert public_subnet(vpc).subnet_of(vpc)
    assert not node_subnet(vpc).overlaps(public_subnet(vpc))


@pytest.mark.parametrize(("cidr", "endpoints", "usable"), [("10.0.0.0/24", 0, 251), ("10.0.0.0/24", 10, 241)])
def test_awss_own_addresses_are_not_counted(cidr: str, endpoints: int, usable: int) -> None:
    """Five addresses of every subnet are AWS's, and each interface endpoint takes one."""
    assert usable_addresses(IPv4Network(cidr), interface_endpoints=endpoints) == usable
