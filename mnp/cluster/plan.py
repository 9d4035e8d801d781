"""What a cluster file means in numbers: what a node is, what the network holds, what an hour costs."""

from __future__ import annotations

from dataclasses import dataclass

from mnp.cluster.instance_types import InstanceType, catalogue, price_list
from mnp.cluster.interfaces import addresses_per_node, network_interfaces
from mnp.cluster.model import CapacityBlock, Cluster, NewVpc
from mnp.cluster.names import cluster_stack_name, network_stack_name, queue_name
from mnp.cluster.node_shape import NodeShape, node_shape
from mnp.cluster.subnets import node_subnet, usable_addresses

# "Running On-Demand P instances" and "... G and VT instances" of EC2, counted in vCPUs:
# https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html, checked 2026-11-21.
QUOTA_CODES = {"p": "L-417A185B", "g": "L-DB2E81BA"}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """`usd_per_hour` is for all nodes at the on-demand list price, None where AWS lists none or a block is prepaid."""

    stacks: tuple[str, ...]
    queue: str
    nodes: int
    node: NodeShape
    gpu: str
    efa_gbps_per_node: float
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
    new = isinstance(cluster.vpc, NewVpc)
    stacks = ([network_stack_name(cluster.name)] if new else []) + [cluster_stack_name(cluster.name)]
    prices = price_list()
    return Plan(
        stacks=tuple(stacks),
        queue=queue_name(cluster.name),
        nodes=cluster.max_nodes,
        node=node_shape(instance, cluster.network_interfaces),
        gpu=f"{instance.gpu_name} {instance.gpu_memory_mib / 1024:.0f} GiB",
        efa_gbps_per_node=instance.efa_gbps,
        network_interfaces={kind: kinds.count(kind) for kind in sorted(set(kinds))},
        addresses_per_node=each,
        addresses_needed=each * cluster.max_nodes,
        node_subnet=str(node_subnet(cluster.vpc.cidr)) if isinstance(cluster.vpc, NewVpc) else cluster.vpc.subnet,
        node_subnet_addresses=usable_addresses(node_subnet(cluster.vpc.cidr))
        if isinstance(cluster.vpc, NewVpc)
        else None,
        vcpus=cluster.max_nodes * instance.vcpus,
        vcpu_quota=QUOTA_CODES[instance.family[0]],
        usd_per_hour=_usd_per_hour(cluster, instance),
        price_region=prices.region,
        price_date=prices.date,
    )


def _usd_per_hour(cluster: Cluster, instance: InstanceType) -> float | None:
    if isinstance(cluster.capacity, CapacityBlock) or instance.usd_per_hour is None:
        return None
    return round(cluster.max_nodes * instance.usd_per_hour, 2)
