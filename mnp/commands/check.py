"""`mnp check`: is the cluster file right, and what does it mean? Offline."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from mnp.cluster.capacity import CapacityBlock, Reservation
from mnp.cluster.cluster_file import ClusterFile, load
from mnp.cluster.model import Cluster
from mnp.cluster.plan import Plan, plan
from mnp.cluster.problems import ClusterFileError
from mnp.cluster.update_effects import KeyChange, UpdateEffect, update_effects
from mnp.cluster.vpc import ExistingVpc, SharedVpc
from mnp.commands import options
from mnp.commands.console import data, emit, say
from mnp.commands.errors import ExitCode

LABEL_WIDTH = 12

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The cluster file.")] = options.DEFAULT_FILE,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print plan and problems as JSON.")] = False,
) -> None:
    """Check a cluster file, offline: every mistake at once.

    A right file is answered with what would be made, what it costs per hour at full size, and what a change of each
    key does once it is deployed; a wrong one with every mistake, its line, reason and fix, and exit code 2.
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
    lines = [*_lines(loaded.cluster, found), *_changes(update_effects(loaded.cluster))]
    emit("\n".join(f"{label + ':' if label else '':<{LABEL_WIDTH}}{text}" for label, text in lines))


def _document(loaded: ClusterFile, found: Plan) -> dict[str, object]:
    return {
        "file": loaded.path,
        "cluster": loaded.cluster.model_dump(mode="json"),
        "plan": {**dataclasses.asdict(found), "node": found.node.model_dump()},
        "changes": [dataclasses.asdict(each) for each in update_effects(loaded.cluster)],
        "problems": [dataclasses.asdict(each) for each in loaded.warnings],
    }


def _lines(cluster: Cluster, found: Plan) -> list[tuple[str, str]]:
    node = found.node
    kinds = ", ".join(f"{number} {kind}" for kind, number in found.network_interfaces.items())
    placement = "a cluster placement group" if cluster.uses_placement_group else "no placement group"
    return [
        ("cluster", f"{cluster.name}, up to {found.nodes} x {node.instance_type} in {cluster.availability_zone}"),
        ("node", f"{found.accelerators}, {node.vcpus} vCPU, {node.memory_mib} MiB for the job"),
        ("ami", _ami(cluster)),
        ("fabric", f"{_fabric(found)}; interfaces: {kinds}; {placement}"),
        ("network", _network(cluster, found)),
        ("capacity", f"{_capacity(cluster)}; {found.vcpus} vCPUs at full size, EC2 quota {found.vcpu_quota}"),
        ("stacks", ", ".join(found.stacks)),
        ("queue", f"{found.queue}; a job may run {cluster.max_job_hours} h and wait {cluster.max_queue_hours} h"),
        ("cost", _cost(cluster, found)),
    ]


def _ami(cluster: Cluster) -> str:
    if cluster.bake:
        what = "the EFA driver and the disk tools" + (", and the container image" if cluster.bake.pull_image else "")
        return (
            f"prebaked: AWS's ECS image with {what}; built at the first deploy and weekly if AWS's is newer,"
            f" id in {cluster.ami_parameter}"
        )
    if cluster.ami == "ecs":
        return "AWS's ECS image for the accelerators"
    if cluster.ami_parameter:
        return f"the id in the SSM parameter {cluster.ami_parameter} when the cluster is deployed"
    return str(cluster.ami)


def _fabric(found: Plan) -> str:
    devices = found.node.efa_devices
    return f"{devices} EFA device{'s' if devices > 1 else ''}, {found.network_gbps_per_node:g} Gbit/s a node"


def _network(cluster: Cluster, found: Plan) -> str:
    need = f"{found.addresses_per_node} addresses a node, {found.addresses_needed} at full size"
    vpc = cluster.vpc
    if isinstance(vpc, ExistingVpc):
        return f"{vpc.id}, {found.node_subnet}; {need}"
    whose, each_zone, of_all = f"new VPC {vpc.cidr}", "", ""
    if isinstance(vpc, SharedVpc):
        whose = f"shared VPC {vpc.name}, {vpc.cidr} in {', '.join(vpc.zones)},"
        each_zone, of_all = " in each zone", " for all clusters of the zone"
    there = {f"a NAT gateway{each_zone}": vpc.nat_gateway, "interface endpoints": vpc.interface_endpoints}
    ways = [way for way, is_there in there.items() if is_there]
    return (
        f"{whose} with {' and '.join(ways)}; nodes in {found.node_subnet}"
        f" ({found.node_subnet_addresses} addresses{of_all}); {need}"
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
    idle = (
        "while no job runs, no node does; NAT gateways and endpoints of a VPC that mnp makes are charged all the time"
    )
    if found.usd_per_hour is None:
        prepaid = isinstance(cluster.capacity, CapacityBlock)
        return f"{'the block is paid for in advance' if prepaid else 'AWS lists no on-demand price'}; {idle}"
    return (
        f"${found.usd_per_hour:,.2f} per hour at full size ({found.nodes} x ${found.usd_per_hour / found.nodes:,.3f},"
        f" on-demand list price in {found.price_region} on {found.price_date}); {idle}"
    )


def _changes(effects: Sequence[UpdateEffect]) -> Iterator[tuple[str, str]]:
    """Keys by what a change of them does to the cluster once it is deployed, wrapped where somebody reads it."""
    label = "changes"
    for effect in effects:
        keys = ", ".join(map(_key, effect.changes))
        about = [f"running jobs: {effect.running_jobs}", *_notes(effect)]
        for text, indent in ((f"{effect.name}: {keys}", ""), *((each, "  ") for each in about)):
            for line in _wrapped(text.replace("`", ""), indent):
                yield label, line
                label = ""


def _key(change: KeyChange) -> str:
    return f"{change.key} (to {' or '.join(change.to)})" if change.to else change.key


def _notes(effect: UpdateEffect) -> list[str]:
    """What is to be said of single keys, once for those of which the same is."""
    keys: dict[str, list[str]] = {}
    for change in effect.changes:
        if change.notes:
            keys.setdefault(" ".join(change.notes), []).append(_key(change))
    return [f"{', '.join(each)}: {note}" for note, each in keys.items()]


def _wrapped(text: str, indent: str) -> list[str]:
    """The text in lines of the terminal's width, or in one line where standard output is none."""
    if not data.is_terminal:
        return [indent + text]
    return textwrap.wrap(
        text,
        max(data.width - LABEL_WIDTH, 40),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
