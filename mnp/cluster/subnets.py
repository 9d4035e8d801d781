"""How a VPC that our stacks make is cut, and how many nodes a subnet holds.

A cut depends on the VPC's range alone, and in a shared VPC on the zone: what else changes, more nodes or another zone,
must never replace a subnet under running nodes.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import islice

# https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html, checked 2026-11-21.
RESERVED_ADDRESSES_PER_SUBNET = 5
SMALLEST_PREFIX = 28
LARGEST_PREFIX = 16
# The zones that a shared VPC has a place for, by letter. None past f is in instance_types.json; eight cut evenly.
ZONE_LETTERS = "abcdefgh"
# One interface endpoint takes one address of each node subnet; see stacks/network_stack.py.
INTERFACE_ENDPOINTS = 10


def node_subnet(vpc: IPv4Network) -> IPv4Network:
    """The private subnet of the nodes in a VPC of one zone: the first half."""
    return next(vpc.subnets(prefixlen_diff=1))


def public_subnet(vpc: IPv4Network) -> IPv4Network:
    """The public subnet of a VPC of one zone, for the NAT gateway only: the first /28 of the second half."""
    return _public_subnets(vpc)[0]


def shared_node_subnet(vpc: IPv4Network, zone: str) -> IPv4Network:
    """The private subnet of a zone's nodes in a shared VPC: the eighth of the first half that the zone's letter names.

    Raises:
        ValueError: the zone, as us-east-1a, ends in none of ZONE_LETTERS.
    """
    first_half, _ = vpc.subnets(prefixlen_diff=1)
    return [*first_half.subnets(prefixlen_diff=3)][_slot(zone)]


def shared_public_subnet(vpc: IPv4Network, zone: str) -> IPv4Network:
    """The public subnet of a zone in a shared VPC, for its NAT gateway only: the letter's /28 of the second half.

    Raises:
        ValueError: the zone, as us-east-1a, ends in none of ZONE_LETTERS.
    """
    return _public_subnets(vpc)[_slot(zone)]


def usable_addresses(subnet: IPv4Network, *, interface_endpoints: int = 0) -> int:
    """Addresses left for nodes, after AWS's own five and one for each interface endpoint."""
    return subnet.num_addresses - RESERVED_ADDRESSES_PER_SUBNET - interface_endpoints


def _public_subnets(vpc: IPv4Network) -> list[IPv4Network]:
    _, second_half = vpc.subnets(prefixlen_diff=1)
    return [*islice(second_half.subnets(new_prefix=SMALLEST_PREFIX), len(ZONE_LETTERS))]


def _slot(zone: str) -> int:
    return ZONE_LETTERS.index(zone[-1])
