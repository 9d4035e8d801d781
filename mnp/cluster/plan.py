"""What a cluster file means in numbers: what a node is, what the network holds, what an hour costs."""

from __future__ import annotations

from dataclasses import dataclass

from mnp.cluster.capacity import CapacityBlock
from mnp.cluster.instance_types import InstanceType, catalogue, price_list
from mnp.cluster.interfaces import addresses_per_node, network_interfaces
from mnp.cluster.model import Cluster
from mnp.cluster.names import (
    cluster_stack_name,
    image_stack_name,
    network_stack_name,
    queue_name,
    shared_network_stack_name,
)
from mnp.cluster.node_shape import NodeShape, node_shape
from mnp.cluster.vpc import ManagedVpc, NewVpc, SharedVpc

# "Running On-Demand P instances", "... G and VT instances" and "... Trn instances" of EC2, counted in vCPUs, by the
# family's first letters: https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html, checked
# 2026-11-21.
QUOTA_CODES = {"p": "L-417A185B", "g": "L-DB2E81BA", "trn": "L-2C3B7624"}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """`usd_per_hour` is for all nodes at the on-demand list price, None where AWS lists none or a block is prepaid."""

    stacks: tuple[str, ...]
    queue: str
    nodes: int
    node: NodeShape
    accelerators: str
    network_gbps_per_node: float
    network_interfaces: dict[str, int]
    addresses_per_node: int
    addresses_needed: int
    node_subnet: str
    node_subnet_addresses: int | None
    vcpus: int
    vcpu_quota: str
    usd_per_hour: float | None
    price_region: str
    price_date: str


def plan(cluster: Cluster) -> Plan:
    instance = catalogue()[cluster.instance_type]
    interfaces = network_interfaces(instance, cluster.network_interfaces)
    kinds = [interface.interface_type for interface in interfaces]
    each = addresses_per_node(interfaces)
    vpc = cluster.vpc
    stacks = (network_stack(cluster), image_stack(cluster), cluster_stack_name(cluster.name))
    prices = price_list()
    return Plan(
        stacks=tuple(stack for stack in stacks if stack is not None),
        queue=queue_name(cluster.name),
        nodes=cluster.max_nodes,
        node=node_shape(instance, cluster.network_interfaces),
        accelerators=_accelerators(instance),
        network_gbps_per_node=instance.network_gbps,
        network_interfaces={kind: kinds.count(kind) for kind in sorted(set(kinds))},
        addresses_per_node=each,
        addresses_needed=each * cluster.max_nodes,
        node_subnet=str(vpc.node_subnet(cluster.availability_zone)) if isinstance(vpc, ManagedVpc) else vpc.subnet,
        node_subnet_addresses=vpc.node_addresses if isinstance(vpc, ManagedVpc) else None,
        vcpus=cluster.max_nodes * instance.vcpus,
        vcpu_quota=quota_code(instance),
        usd_per_hour=_usd_per_hour(cluster, instance),
        price_region=prices.region,
        price_date=prices.date,
    )


def network_stack(cluster: Cluster) -> str | None:
    """The stack that makes the cluster's VPC; None where it is there already."""
    match cluster.vpc:
        case NewVpc():
            return network_stack_name(cluster.name)
        case SharedVpc(name=name):
            return shared_network_stack_name(name, cluster.region)
    return None


def image_stack(cluster: Cluster) -> str | None:
    """The stack that bakes the nodes' image; None where they boot one that is there already."""
    return image_stack_name(cluster.name) if cluster.bake else None


def quota_code(instance: InstanceType) -> str:
    """Code of the Service Quota, counted in vCPUs, that bounds the type's on-demand instances."""
    return next(code for letters, code in QUOTA_CODES.items() if instance.family.startswith(letters))


def _accelerators(instance: InstanceType) -> str:
    """Number and name; no memory for Trainium, of which EC2's API tells another figure than AWS publishes."""
    each = instance.accelerator
    memory = f" {each.memory_mib / 1024:.0f} GiB" if each.kind == "gpu" else ""
    return f"{each.count} x {each.name}{memory}"


def _usd_per_hour(cluster: Cluster, instance: InstanceType) -> float | None:
    if isinstance(cluster.capacity, CapacityBlock) or instance.usd_per_hour is None:
        return None
    return round(cluster.max_nodes * instance.usd_per_hour, 2)
