"""Rules about the VPC of a cluster, in the form of mnp/cluster/rules.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from mnp.cluster.interfaces import NetworkInterface, addresses_per_node
from mnp.cluster.problems import Problem, shown
from mnp.cluster.subnets import LARGEST_PREFIX, ZONE_LETTERS
from mnp.cluster.vpc import ExistingVpc, ManagedVpc, SharedVpc

AnyVpc = ManagedVpc | ExistingVpc

VPC_RANGES = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"


def vpc_size_is_allowed(vpc: AnyVpc) -> Iterator[Problem]:
    if not isinstance(vpc, ManagedVpc) or LARGEST_PREFIX <= vpc.cidr.prefixlen <= vpc.smallest_prefix:
        return
    too_small = (
        f"less than a /{vpc.smallest_prefix} has no room for subnets in {len(ZONE_LETTERS)} zones"
        if isinstance(vpc, SharedVpc)
        else f"less than a /{vpc.smallest_prefix} holds no two nodes"
    )
    yield Problem(
        key="vpc.cidr",
        message="too large or too small",
        got=str(vpc.cidr),
        allowed=f"/{LARGEST_PREFIX} to /{vpc.smallest_prefix}",
        reason=f"AWS allows at most a /{LARGEST_PREFIX}, and {too_small}",
        source=VPC_RANGES,
    )


def vpc_range_is_private(vpc: AnyVpc) -> Iterator[Problem]:
    if isinstance(vpc, ManagedVpc) and not vpc.cidr.is_private:
        yield Problem(
            key="vpc.cidr",
            message="a public address range",
            got=str(vpc.cidr),
            allowed="a range inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16",
            reason="nodes could not reach the internet hosts that really have these addresses",
            source=VPC_RANGES,
        )


def shared_zones_are_of_region(region: str, vpc: AnyVpc) -> Iterator[Problem]:
    if not isinstance(vpc, SharedVpc):
        return
    wrong = [zone for zone in vpc.zones if not re.fullmatch(re.escape(region) + f"[{ZONE_LETTERS}]", zone)]
    if wrong:
        first, last = ZONE_LETTERS[0], ZONE_LETTERS[-1]
        yield Problem(
            key="vpc.zones",
            message=f"not zones of {region}",
            got=shown(wrong),
            allowed=f"{region}{first} to {region}{last}",
            reason=f"each zone's letter, {first} to {last}, is its place in the VPC",
            fix="aws ec2 describe-availability-zones lists them",
        )
    twice = sorted({zone for zone in vpc.zones if vpc.zones.count(zone) > 1})
    if twice:
        yield Problem(key="vpc.zones", message="named twice", got=shown(twice), allowed="each zone once")


def cluster_stands_in_a_shared_zone(vpc: AnyVpc, availability_zone: str) -> Iterator[Problem]:
    if isinstance(vpc, SharedVpc) and availability_zone not in vpc.zones:
        yield Problem(
            key="availability_zone",
            message=f"not a zone of the shared VPC {vpc.name}",
            got=shown(availability_zone),
            allowed=", ".join(vpc.zones),
            reason="the VPC has subnets in the zones that vpc.zones names, and nowhere else",
            fix="choose one of them, or add the zone to vpc.zones in every file that shares the VPC",
        )


def subnet_holds_the_nodes(vpc: AnyVpc, max_nodes: int, interfaces: Sequence[NetworkInterface]) -> Iterator[Problem]:
    if not isinstance(vpc, ManagedVpc) or vpc.cidr.prefixlen > vpc.smallest_prefix:
        return
    each = addresses_per_node(interfaces)
    if max_nodes * each > vpc.node_addresses:
        yield Problem(
            key="vpc.cidr",
            message=f"too small for {max_nodes} nodes",
            got=str(vpc.cidr),
            allowed=f"at most {max(vpc.node_addresses, 0) // each} nodes: their subnet, a /{vpc.node_subnet_prefix},"
            f" has {max(vpc.node_addresses, 0)} addresses for them",
            reason=f"a node takes {each} addresses: those of its interfaces and one for the task",
            fix=_large_enough(vpc, max_nodes * each),
            source="https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html",
        )


def _large_enough(vpc: ManagedVpc, addresses: int) -> str:
    for prefix in range(vpc.cidr.prefixlen - 1, LARGEST_PREFIX - 1, -1):
        wider = vpc.model_copy(update={"cidr": vpc.cidr.supernet(new_prefix=prefix)})
        if wider.node_addresses >= addresses:
            shared = isinstance(vpc, SharedVpc)
            return f"cidr: {wider.cidr}, in every file that shares it" if shared else f"vpc: {{cidr: {wider.cidr}}}"
    return "no VPC is large enough; use network_interfaces: shared or fewer nodes"


def nodes_reach_their_images(vpc: AnyVpc, image: str) -> Iterator[Problem]:
    if not isinstance(vpc, ManagedVpc) or vpc.nat_gateway:
        return
    if not vpc.interface_endpoints:
        yield Problem(
            key="vpc.nat_gateway",
            message="nodes would reach nothing",
            got="false",
            allowed="false only with interface_endpoints: true",
            reason="nodes and tasks have no public address; without NAT they need private endpoints",
            fix="vpc: {nat_gateway: false, interface_endpoints: true}",
            source="https://docs.aws.amazon.com/batch/latest/userguide/vpc-interface-endpoints.html",
        )
    if not re.match(r"^\d{12}\.dkr\.ecr\.", image):
        yield Problem(
            key="image",
            message="out of reach without a NAT gateway",
            got=shown(image),
            allowed="an image in a private ECR repository, <account>.dkr.ecr.<region>.amazonaws.com/...",
            reason="there is a private endpoint for private ECR only, not for public registries",
            fix="mirror the image into your own ECR, or keep the NAT gateway",
            source="https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html",
        )


RULES: tuple[Callable[..., Iterator[Problem]], ...] = (
    vpc_size_is_allowed,
    vpc_range_is_private,
    shared_zones_are_of_region,
    cluster_stands_in_a_shared_zone,
    subnet_holds_the_nodes,
    nodes_reach_their_images,
)
