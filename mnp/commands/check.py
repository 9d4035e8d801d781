"""`mnp check`: is the cluster file right, and what does it mean? Offline."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from mnp.cluster.cluster_file import ClusterFile, load
from mnp.cluster.model import CapacityBlock, Cluster, NewVpc, Reservation
from mnp.cluster.plan import Plan, plan
from mnp.cluster.problems import ClusterFileError
from mnp.commands import options
from mnp.commands.console import emit, say
from mnp.commands.errors import ExitCode

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The cluster file.")] = options.DEFAULT_FILE,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print plan and problems as JSON.")] = False,
) -> None:
    """Check a cluster file, offline: every mistake at once.

    A right file is answered with what would be made and what it costs per hour at full size; a wrong one with every
    mistake, its line, reason and fix, and exit code 2.
    """
    try:
        loaded = load(file)
    except ClusterFileError as error:
        if not as_json:
            raise
        emit(json.dumps({"file": error.file, "problems": [dataclasses.asdict(each) for each in error.problems]}))
        raise typer.Exit(ExitCode.USAGE) from None
    found = plan(loaded.cluster)
    if as_json:
        emit(json.dumps(_document(loaded, found)))
        return
    for warning in loaded.warnings:
        say(warning.render(loaded.path), style="yellow")
    emit("\n".join(f"{label + ':':<12}{text}" for label, text in _lines(loaded.cluster, found)))


def _document(loaded: ClusterFile, found: Plan) -> dict[str, object]:
    return {
        "file": loaded.path,
        "cluster": loaded.cluster.model_dump(mode="json"),
        "plan": {**dataclasses.asdict(found), "node": found.node.model_dump()},
        "problems": [dataclasses.asdict(each) for each in loaded.warnings],
    }


def _lines(cluster: Cluster, found: Plan) -> list[tuple[str, str]]:
    node = found.node
    kinds = ", ".join(f"{number} {kind}" for kind, number in found.network_interfaces.items())
    placement = "a cluster placement group" if cluster.uses_placement_group else "no placement group"
    return [
        ("cluster", f"{cluster.name}, up to {found.nodes} x {node.instance_type} in {cluster.availability_zone}"),
        ("node", f"{node.gpus} x {found.gpu}, {node.vcpus} vCPU, {node.memory_mib} MiB for the job"),
        ("fabric", f"{_fabric(found)}; interfaces: {kinds}; {placement}"),
        ("network", _network(cluster, found)),
        ("capacity", f"{_capacity(cluster)}; {found.vcpus} vCPUs at full size, EC2 quota {found.vcpu_quota}"),
        ("stacks", ", ".join(found.stacks)),
        ("queue", f"{found.queue}; a job may run {cluster.max_job_hours} h and wait {cluster.max_queue_hours} h"),
        ("cost", _cost(cluster, found)),
    ]


def _fabric(found: Plan) -> str:
    devices = found.node.efa_devices
    return f"{devices} EFA device{'s' if devices > 1 else ''}, {found.efa_gbps_per_node:g} Gbit/s a node"


def _network(cluster: Cluster, found: Plan) -> str:
    need = f"{found.addresses_per_node} addresses a node, {found.addresses_needed} at full size"
    if not isinstance(cluster.vpc, NewVpc):
        return f"{cluster.vpc.id}, {found.node_subnet}; {need}"
    there = {"a NAT gateway": cluster.vpc.nat_gateway, "interface endpoints": cluster.vpc.interface_endpoints}
    ways = [way for way, is_there in there.items() if is_there]
    return (
        f"new VPC {cluster.vpc.cidr} with {' and '.join(ways)}; nodes in {found.node_subnet}"
        f" ({found.node_subnet_addresses} addresses); {need}"
    )


def _capacity(cluster: Cluster) -> str:
    match cluster.capacity:
        case "reservations_only":
            return "open reservations only"
        case Reservation(reservation=reservation):
            return f"reservation {reservation}"
        case CapacityBlock(capacity_block=block):
            return f"capacity block {block}"
    return "on demand"


def _cost(cluster: Cluster, found: Plan) -> str:
    idle = "while no job runs, no node does; NAT gateway and endpoints of a new VPC are charged all the time"
    if found.usd_per_hour is None:
        prepaid = isinstance(cluster.capacity, CapacityBlock)
        return f"{'the block is paid for in advance' if prepaid else 'AWS lists no on-demand price'}; {idle}"
    return (
        f"${found.usd_per_hour:,.2f} per hour at full size ({found.nodes} x ${found.usd_per_hour / found.nodes:,.3f},"
        f" on-demand list price in {found.price_region} on {found.price_date}); {idle}"
    )
