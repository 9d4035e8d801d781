from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnp.cluster.subnets import (
    SMALLEST_PREFIX,
    ZONE_LETTERS,
    node_subnet,
    public_subnet,
    shared_node_subnet,
    shared_public_subnet,
    usable_addresses,
)
from mnp.cluster.vpc import SharedVpc

ZONES = tuple(f"us-east-1{letter}" for letter in ZONE_LETTERS)
shared_ranges = st.integers(16, SharedVpc.smallest_prefix).map(lambda prefix: IPv4Network((0x0A000000, prefix)))


@given(st.integers(16, 26))
def test_subnets_lie_in_the_vpc_and_do_not_meet(prefix: int) -> None:
    """Whatever the size of the VPC, nodes and NAT gateway have subnets of their own in it."""
    vpc = IPv4Network((0x0A000000, prefix))
    assert node_subnet(vpc).subnet_of(vpc)
    assert public_subnet(vpc).subnet_of(vpc)
    assert not node_subnet(vpc).overlaps(public_subnet(vpc))


@given(shared_ranges)
def test_all_zones_of_a_shared_vpc_have_subnets_of_their_own(vpc: IPv4Network) -> None:
    """Sixteen subnets lie in the VPC, no two of them meet, and none is smaller than AWS allows."""
    subnets = [cut(vpc, zone) for cut in (shared_node_subnet, shared_public_subnet) for zone in ZONES]
    assert all(subnet.subnet_of(vpc) and subnet.prefixlen <= SMALLEST_PREFIX for subnet in subnets)
    assert not any(one.overlaps(other) for one, other in combinations(subnets, 2))


def test_no_smaller_shared_vpc_could_be_cut() -> None:
    """The smallest range that the rule allows is the smallest for which the cut exists."""
    with pytest.raises(IndexError):
        shared_public_subnet(IPv4Network((0x0A000000, SharedVpc.smallest_prefix + 1)), ZONES[-1])


@given(shared_ranges, st.sets(st.sampled_from(ZONES), min_size=2), st.sampled_from(ZONES))
def test_a_zone_that_comes_or_goes_moves_no_other(cidr: IPv4Network, zones: set[str], other: str) -> None:
    """The subnets of a zone are the same whichever zones stand beside it."""
    before, after = (SharedVpc(name="ml", cidr=cidr, zones=tuple(each)) for each in (zones, zones ^ {other}))
    for zone in zones - {other}:
        assert before.node_subnet(zone) == after.node_subnet(zone)
        assert before.public_subnet(zone) == after.public_subnet(zone)


@pytest.mark.parametrize(("cidr", "endpoints", "usable"), [("10.0.0.0/24", 0, 251), ("10.0.0.0/24", 10, 241)])
def test_awss_own_addresses_are_not_counted(cidr: str, endpoints: int, usable: int) -> None:
    """Five addresses of every subnet are AWS's, and each interface endpoint takes one."""
    assert usable_addresses(IPv4Network(cidr), interface_endpoints=endpoints) == usable
