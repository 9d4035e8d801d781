"""How a new VPC is cut, and how many nodes a subnet holds."""

from __future__ import annotations

from ipaddress import IPv4Network

# https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html, checked 2026-11-21.
RESERVED_ADDRESSES_PER_SUBNET = 5
SMALLEST_PREFIX = 28
LARGEST_PREFIX = 16


def node_subnet(vpc: IPv4Network) -> IPv4Network:
    """The private subnet of the nodes: the first half of the VPC.

    It depends on the VPC alone: a change of max_nodes must never replace the subnet under running nodes.
    """
    return next(vpc.subnets(prefixlen_diff=1))


def public_subnet(vpc: IPv4Network) -> IPv4Network:
    """The public subnet, for the NAT gateway only: the first /28 of the second half."""
    _, second_half = vpc.subnets(prefixlen_diff=1)
    return next(second_half.subnets(new_prefix=SMALLEST_PREFIX))


def usable_addresses(subnet: IPv4Network, *, interface_endpoints: int = 0) -> int:
    """Addresses left for nodes, after AWS's own five and one for each interface endpoint."""
    return subnet.num_addresses - RESERVED_ADDRESSES_PER_SUBNET - interface_endpoints
