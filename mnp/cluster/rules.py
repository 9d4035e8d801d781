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

from mnp.cluster import image_rules, network_rules
from mnp.cluster.capacity import Capacity, CapacityBlock
from mnp.cluster.instance_types import UNSUPPORTED, InstanceType, catalogue
from mnp.cluster.interfaces import Layout, NetworkInterface, network_interfaces
from mnp.cluster.model import DEFAULT_IMAGE
from mnp.cluster.names import STACK_ENDINGS
from mnp.cluster.problems import Problem, shown

Rule = Callable[..., Iterator[Problem]]

WORLD = IPv4Network("0.0.0.0/0")
MNP_ENVIRONMENTS = "https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html"


def name_is_no_other_stacks(name: str) -> Iterator[Problem]:
    if ending := next((each for each in STACK_ENDINGS if name.endswith(each)), None):
        yield Problem(
            key="name",
            message=f"must not end in {ending}",
            got=shown(name),
            allowed=f"names that end in none of {', '.join(STACK_ENDINGS)}",
            reason=f"the stack mnp-{name} could be another one of {name.removesuffix(ending)!r}",
            fix=f"name: {name.removesuffix(ending)}",
        )


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
        message="cannot be used" if reason else "not an EFA-capable GPU or Trainium instance type",
        got=shown(instance_type),
        allowed=f"one of {len(catalogue())} EFA-capable types that Batch can run, of {', '.join(families)}",
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
    if family.startswith("inf"):
        return "its accelerators are for inference; clusters are made of NVIDIA GPUs or Trainium"
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


def image_is_for_the_accelerator(instance: InstanceType, image: str) -> Iterator[Problem]:
    if instance.accelerator.kind == "neuron" and image == DEFAULT_IMAGE:
        yield Problem(
            key="image",
            message=f"must be named for {instance.name}",
            got="the default, which is for NVIDIA GPUs",
            allowed="an image with PyTorch and the Neuron SDK of your choice",
            reason="AWS keeps images per Neuron version and generation of Trainium, none of them for all",
            fix="image: public.ecr.aws/neuron/<repository>:<version>",
            source="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/deploy/environments/dlc-images.html",
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
    name_is_no_other_stacks,
    zone_is_of_region,
    instance_type_is_known,
    instance_type_is_offered,
    on_demand_is_sold,
    capacity_block_is_sold,
    capacity_block_places_its_nodes,
    task_interface_finds_a_place,
    *network_rules.RULES,
    ssh_is_not_for_the_world,
    image_is_for_the_accelerator,
    image_is_pinned,
    *image_rules.RULES,
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
