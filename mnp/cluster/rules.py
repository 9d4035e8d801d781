"""AWS's rules about a cluster, one small function each.

A rule names the keys it needs as its parameters, so that it is asked even when other keys are wrong. Two more names
are known: `instance`, the facts of the instance type, and `interfaces`, a node's network interfaces.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from mnp.cluster.instance_types import UNSUPPORTED, InstanceType, catalogue
from mnp.cluster.interfaces import Layout, NetworkInterface, addresses_per_node, network_interfaces
from mnp.cluster.model import Capacity, CapacityBlock, ExistingVpc, NewVpc
from mnp.cluster.problems import Problem, shown
from mnp.cluster.subnets import LARGEST_PREFIX, node_subnet, usable_addresses

Rule = Callable[..., Iterator[Problem]]

WORLD = IPv4Network("0.0.0.0/0")
# A /27 would leave the nodes' half of the VPC too small for two nodes and the public /28 no place beside it.
SMALLEST_VPC_PREFIX = 26
EFA_LIMITS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html"
MNP_ENVIRONMENTS = "https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html"
# One interface endpoint takes one address of the nodes' subnet each; see stacks/network_stack.py.
INTERFACE_ENDPOINTS = 10


def zone_is_of_region(region: str, availability_zone: str) -> Iterator[Problem]:
    if re.fullmatch(re.escape(region) + r"[a-z]", availability_zone):
        return
    zone_id = re.fullmatch(r"[a-z0-9]+-az[0-9]+", availability_zone)
    yield Problem(
        key="availability_zone",
        message="a zone id, not a zone name" if zone_id else f"not a zone of {region}",
        got=shown(availability_zone),
        allowed=f"{region} and one letter, {region}a",
        reason="a zone id is the same for every account, a name is what the subnet is made with" if zone_id else None,
        fix="aws ec2 describe-availability-zones lists both",
    )


def instance_type_is_known(instance_type: str) -> Iterator[Problem]:
    if instance_type in catalogue():
        return
    reason = _why_unsupported(instance_type)
    close = difflib.get_close_matches(instance_type, catalogue(), n=2, cutoff=0.85)
    near = _smallest_of_family(instance_type) if reason else close
    families = sorted({known.family for known in catalogue().values()})
    yield Problem(
        key="instance_type",
        message="cannot be used" if reason else "not an EFA-capable GPU instance type",
        got=shown(instance_type),
        allowed=f"one of {len(catalogue())} EFA-capable NVIDIA types that Batch can run, of {', '.join(families)}",
        reason=reason,
        fix=f"perhaps {' or '.join(near)}" if near else "`mnp schema` lists them all",
        source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html",
    )


def _why_unsupported(name: str) -> str | None:
    family, _, size = name.partition(".")
    if name in UNSUPPORTED:
        return UNSUPPORTED[name]
    if family.startswith("g5g"):
        return "it is an arm64 type, and AWS publishes no arm64 GPU image for ECS and Batch"
    if family.startswith(("trn", "inf")):
        return "it has AWS accelerators; this version makes clusters of NVIDIA GPUs only"
    if _smallest_of_family(name) and re.fullmatch(r"(\d*x)?large|metal", size):
        return f"{family} has EFA in its larger sizes only"
    return None


def _smallest_of_family(name: str) -> list[str]:
    family = [known for known in catalogue().values() if known.family == name.partition(".")[0]]
    return [known.name for known in sorted(family, key=lambda known: known.vcpus)[:1]]


def instance_type_is_offered(instance: InstanceType, region: str, availability_zone: str) -> Iterator[Problem]:
    zones = instance.availability_zones.get(region, ())
    if availability_zone in zones or not availability_zone.startswith(region):
        return
    known = f"in {region} in {', '.join(zones)}" if zones else f"in {', '.join(sorted(instance.availability_zones))}"
    yield Problem(
        level="warning",
        key="availability_zone",
        message=f"{instance.name} is not known to be offered in {availability_zone}",
        got=shown(availability_zone),
        reason=f"known {known}; the list may be old, and zone names differ between accounts",
        fix=f"aws ec2 describe-instance-type-offerings --region {region} --location-type availability-zone"
        f" --filters Name=instance-type,Values={instance.name}",
    )


def on_demand_is_sold(instance: InstanceType, capacity: Capacity) -> Iterator[Problem]:
    if capacity == "on_demand" and instance.usd_per_hour is None:
        yield Problem(
            level="warning",
            key="capacity",
            message=f"AWS lists no on-demand price for {instance.name}",
            got=shown(capacity),
            reason="it is sold through Capacity Blocks or by agreement, so jobs may wait in vain",
            fix="capacity: {capacity_block: cr-...}",
        )


def capacity_block_is_sold(instance: InstanceType, capacity: Capacity) -> Iterator[Problem]:
    if isinstance(capacity, CapacityBlock) and not instance.capacity_block:
        sold = sorted(known.name for known in catalogue().values() if known.capacity_block)
        yield Problem(
            key="capacity",
            message=f"{instance.name} is not sold in Capacity Blocks",
            got=f"capacity_block: {capacity.capacity_block}",
            allowed=", ".join(sold),
            fix="capacity: on_demand",
            source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html",
        )


def capacity_block_places_its_nodes(capacity: Capacity, placement_group: bool | None) -> Iterator[Problem]:  # noqa: FBT001 -- a rule's parameters are the file's keys
    if isinstance(capacity, CapacityBlock) and placement_group:
        yield Problem(
            key="placement_group",
            message="not together with a capacity block",
            got="true",
            allowed="false, or leave the key out",
            reason="the instances of a Capacity Block are placed close together already, and a group of your own"
            " makes the launch fail for want of capacity",
            fix="remove placement_group",
            source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html",
        )


def task_interface_finds_a_place(
    instance: InstanceType, network_interfaces: Layout, interfaces: Sequence[NetworkInterface]
) -> Iterator[Problem]:
    most = instance.network_cards[0].maximum_network_interfaces
    if sum(interface.network_card_index == 0 for interface in interfaces) < most:
        return
    yield Problem(
        key="network_interfaces",
        message=f"leaves no place on network card 0 of {instance.name}",
        got=shown(network_interfaces),
        allowed="shared or efa",
        reason=f"card 0 holds {most} interfaces, and ECS attaches one more for the task of a multi-node parallel job",
        fix="network_interfaces: shared",
        source=MNP_ENVIRONMENTS,
    )


def vpc_size_is_allowed(vpc: NewVpc | ExistingVpc) -> Iterator[Problem]:
    if isinstance(vpc, NewVpc) and not LARGEST_PREFIX <= vpc.cidr.prefixlen <= SMALLEST_VPC_PREFIX:
        yield Problem(
            key="vpc.cidr",
            message="too large or too small",
            got=str(vpc.cidr),
            allowed=f"/{LARGEST_PREFIX} to /{SMALLEST_VPC_PREFIX}",
            reason="AWS allows at most a /16, and less than a /26 holds no two nodes",
            source="https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html",
        )


def vpc_range_is_private(vpc: NewVpc | ExistingVpc) -> Iterator[Problem]:
    if isinstance(vpc, NewVpc) and not vpc.cidr.is_private:
        yield Problem(
            key="vpc.cidr",
            message="a public address range",
            got=str(vpc.cidr),
            allowed="a range inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16",
            reason="nodes could not reach the internet hosts that really have these addresses",
            source="https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html",
        )


def subnet_holds_the_nodes(
    vpc: NewVpc | ExistingVpc, max_nodes: int, interfaces: Sequence[NetworkInterface]
) -> Iterator[Problem]:
    if not isinstance(vpc, NewVpc) or vpc.cidr.prefixlen > SMALLEST_VPC_PREFIX:
        return
    subnet = node_subnet(vpc.cidr)
    usable = usable_addresses(subnet, interface_endpoints=INTERFACE_ENDPOINTS if vpc.interface_endpoints else 0)
    each = addresses_per_node(interfaces)
    if max_nodes * each > usable:
        yield Problem(
            key="vpc.cidr",
            message=f"too small for {max_nodes} nodes",
            got=str(vpc.cidr),
            allowed=f"at most {usable // each} nodes: their subnet {subnet} has {usable} usable addresses",
            reason=f"a node takes {each} addresses: those of its interfaces and one for the task",
            fix=f"vpc: {{cidr: {_large_enough(vpc, max_nodes * each)}}}",
            source="https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html",
        )


def _large_enough(vpc: NewVpc, addresses: int) -> str:
    for prefix in range(vpc.cidr.prefixlen - 1, LARGEST_PREFIX - 1, -1):
        wider = vpc.cidr.supernet(new_prefix=prefix)
        if usable_addresses(node_subnet(wider), interface_endpoints=INTERFACE_ENDPOINTS) >= addresses:
            return str(wider)
    return "no VPC is large enough; use network_interfaces: shared or fewer nodes"


def nodes_reach_their_images(vpc: NewVpc | ExistingVpc, image: str) -> Iterator[Problem]:
    if not isinstance(vpc, NewVpc) or vpc.nat_gateway:
        return
    if not vpc.interface_endpoints:
        yield Problem(
            key="vpc.nat_gateway",
            message="nodes would reach nothing",
            got="false",
            allowed="false only with interface_endpoints: true",
            reason="nodes and tasks have no public address; without NAT they need private endpoints",
            fix="vpc: {nat_gateway: false, interface_endpoints: true}",
            source=MNP_ENVIRONMENTS,
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


def ssh_is_not_for_the_world(ssh_cidrs: Sequence[IPv4Network], ssh_open_to_world: bool) -> Iterator[Problem]:  # noqa: FBT001 -- a rule's parameters are the file's keys
    if WORLD not in ssh_cidrs:
        return
    if not ssh_open_to_world:
        yield Problem(
            key="ssh_cidrs",
            message="opens SSH to the whole internet",
            got="0.0.0.0/0",
            allowed="ranges of your own networks",
            reason="nodes are reached through Session Manager without any open port",
            fix="remove it, or state ssh_open_to_world: true beside it",
        )
    else:
        yield Problem(
            level="warning",
            key="ssh_cidrs",
            message="SSH to the nodes is open to the whole internet",
            got="0.0.0.0/0",
            reason="ssh_open_to_world: true stands beside it",
        )


def image_is_pinned(image: str) -> Iterator[Problem]:
    _, at, _ = image.partition("@sha256:")
    tag = image.rpartition("/")[2].partition(":")[2]
    if not at and tag in {"", "latest"}:
        yield Problem(
            key="image",
            message="has no tag" if not tag else "moves under you",
            got=shown(image),
            allowed="an explicit tag, or better a digest",
            reason="with `latest`, two nodes of one job may run different versions of NCCL and the EFA plugin",
            fix=f"image: {image.removesuffix(':latest')}:<version>",
        )


RULES: tuple[Rule, ...] = (
    zone_is_of_region,
    instance_type_is_known,
    instance_type_is_offered,
    on_demand_is_sold,
    capacity_block_is_sold,
    capacity_block_places_its_nodes,
    task_interface_finds_a_place,
    vpc_size_is_allowed,
    vpc_range_is_private,
    subnet_holds_the_nodes,
    nodes_reach_their_images,
    ssh_is_not_for_the_world,
    image_is_pinned,
)


def check(values: Mapping[str, Any]) -> list[Problem]:
    """Every problem of the values that are there; a rule that needs a missing one is not asked."""
    known = dict(values)
    if (instance := catalogue().get(str(known.get("instance_type")))) is not None:
        known["instance"] = instance
        if "network_interfaces" in known:
            known["interfaces"] = network_interfaces(instance, known["network_interfaces"])
    problems: list[Problem] = []
    for rule in RULES:
        needed = inspect.signature(rule).parameters
        if known.keys() >= needed.keys():
            problems += rule(**{name: known[name] for name in needed})
    return problems
