"""Write docs/update-effects.md from the templates of pairs of cluster files, so that the page cannot lie.

python tools/write_update_effects.py           # write it
python tools/write_update_effects.py --check   # exit 1 if it is out of date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from mnp.cluster.model import Cluster
from tools.generated_page import write_or_check
from tools.update_effects import ROOT, Effect, Finding, Templates, judge, synthesise

TARGET = ROOT / "docs" / "update-effects.md"

HEAD = """\
# What a change of the cluster file does

What `cdk deploy` does to a cluster that is there already when one key of its file changes. This page is generated: each
row comes from the templates before and after, by what CloudFormation's resource schemas say it can only replace and by
what AWS documents of updates in place. No row was tried on an AWS account.

Where several things change, the row names the worst. `cdk diff -c cluster=FILE` shows them all for a file of your own.

| effect | what happens | running jobs |
| --- | --- | --- |
"""

MEANINGS = {
    Effect.NOTHING: ("nothing that runs", "Settings are updated in place.", "They go on."),
    Effect.NEW_REVISION: (
        "a new revision for later jobs",
        "The smoke test's job definition gets a revision; nodes and environment stay.",
        "They go on as they were submitted.",
    ),
    Effect.NEW_NODES: (
        "new nodes",
        "Batch updates the compute environment in place; later jobs get new nodes.",
        "They go on, but end at latest `max_job_hours` after the update began.",
    ),
    Effect.NEW_ENVIRONMENT: (
        "a new compute environment",
        "CloudFormation makes a second environment, gives it to the queue, and deletes the first.",
        "They may end with the old environment: deploy when none runs.",
    ),
    Effect.NEW_CLUSTER: (
        "a new network or a new cluster",
        "Stacks, or the network under the nodes, are made anew.",
        "They stay with what is old: deploy when none runs.",
    ),
    Effect.REFUSED: (
        "refused",
        "AWS does not make this change to a cluster that is there; CloudFormation rolls it back.",
        "They go on.",
    ),
}


@dataclass(frozen=True)
class Change:
    """Two cluster files that differ in `key`, and in the keys `along` that cannot stay when it changes.

    `where` says in a word of which clusters the row speaks, if not of all.
    """

    key: str
    before: dict[str, Any]
    after: dict[str, Any]
    along: tuple[str, ...] = ()
    where: str = ""


_P5 = {
    "name": "p5-training",
    "region": "us-east-1",
    "availability_zone": "us-east-1d",
    "instance_type": "p5.48xlarge",
    "max_nodes": 8,
}
_BLOCK = {"capacity": {"capacity_block": "cr-0123456789abcdef0"}}
_PRIVATE_IMAGE = {"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/pytorch:2.13"}
_THERE = {"id": "vpc-0123456789abcdef0", "subnet": "subnet-0123456789abcdef0"}


def _change(key: str, before: Mapping[str, Any], after: Mapping[str, Any], *along: str, where: str = "") -> Change:
    return Change(key, {**_P5, **before}, {**_P5, **before, **after}, along, where)


CHANGES = (
    _change("name", {}, {"name": "p5-research"}),
    _change("region", {}, {"region": "us-west-2", "availability_zone": "us-west-2a"}, "availability_zone"),
    _change("availability_zone", {}, {"availability_zone": "us-east-1a"}),
    _change("instance_type", {}, {"instance_type": "p5e.48xlarge"}),
    _change("max_nodes", {}, {"max_nodes": 16}),
    _change("capacity", {}, {"capacity": "reservations_only"}),
    _change("capacity", {}, _BLOCK),
    _change("capacity", _BLOCK, {"capacity": "on_demand"}),
    _change(
        "capacity.reservation",
        {"capacity": {"reservation": "cr-0123456789abcdef0"}},
        {"capacity": {"reservation": "cr-0123456789abcdef1"}},
    ),
    _change("capacity.capacity_block", _BLOCK, {"capacity": {"capacity_block": "cr-0123456789abcdef1"}}),
    _change("network_interfaces", {}, {"network_interfaces": "efa"}),
    _change("placement_group", {}, {"placement_group": False}),
    _change("vpc", {}, {"vpc": _THERE}),
    _change("vpc.cidr", {}, {"vpc": {"cidr": "10.1.0.0/16"}}),
    _change(
        "vpc.nat_gateway",
        {"vpc": {"interface_endpoints": True}, **_PRIVATE_IMAGE},
        {"vpc": {"interface_endpoints": True, "nat_gateway": False}},
    ),
    _change("vpc.interface_endpoints", {}, {"vpc": {"interface_endpoints": True}}),
    _change(
        "vpc.id",
        {"vpc": _THERE},
        {"vpc": {"id": "vpc-0123456789abcdef1", "subnet": "subnet-0123456789abcdef1"}},
        "vpc.subnet",
    ),
    _change("vpc.subnet", {"vpc": _THERE}, {"vpc": _THERE | {"subnet": "subnet-0123456789abcdef1"}}),
    _change(
        "vpc.default_security_group",
        {"vpc": _THERE},
        {"vpc": _THERE | {"default_security_group": "sg-0123456789abcdef0"}},
    ),
    _change("ami", {}, {"ami": "ami-0123456789abcdef0"}),
    _change("ami.parameter", {"ami": {"parameter": "/images/gpu-1"}}, {"ami": {"parameter": "/images/gpu-2"}}),
    _change("ssh_cidrs", {}, {"ssh_cidrs": ["10.0.0.0/8"]}),
    _change("ssh_open_to_world", {}, {"ssh_open_to_world": True}),
    _change("root_volume_gib", {}, {"root_volume_gib": 500}),
    _change("root_volume_gib", _BLOCK, {"root_volume_gib": 500}, where="in a capacity block"),
    _change("scratch", {}, {"scratch": True}),
    _change("image", {}, _PRIVATE_IMAGE),
    _change("max_job_hours", {}, {"max_job_hours": 48}),
    _change("max_queue_hours", {}, {"max_queue_hours": 12}),
    _change("tags", {}, {"tags": {"team": "research"}}),
)


def keys(model: type[BaseModel] = Cluster, prefix: str = "") -> Iterator[str]:
    """Every key of the cluster file, with those of a key's alternatives as key.inner."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        for inner in _models(field.annotation):
            yield from keys(inner, f"{prefix}{name}.")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def finding(change: Change) -> Finding:
    """What the change does.

    Raises:
        UnclassifiedError: a changed property of which nothing says what that does.
    """
    before, after = (_synthesised(json.dumps(values)) for values in (change.before, change.after))
    return judge(before, after)


@cache
def _synthesised(values: str) -> Templates:
    return synthesise(Cluster.model_validate(json.loads(values)))


def row(change: Change) -> str:
    result = finding(change)
    name, _, running = MEANINGS[result.effect]
    example = f"{_shown(change.before, change.key)} to {_shown(change.after, change.key)}"
    if change.where:
        example = f"{example}, {change.where}"
    return f"| `{change.key}` | {example} | {name} | {' '.join([running, *result.notes])} | {_resources(result)} |"


def _resources(result: Finding) -> str:
    """The types that change, those that make the effect first and with their properties."""
    causes: dict[str, list[str]] = {}
    for kind, path in result.decisive:
        causes.setdefault(kind, []).append(path.rpartition("/")[2])
    decisive = [f"**{_short(kind)}** ({', '.join(paths)})" for kind, paths in causes.items()]
    return ", ".join([*decisive, *map(_short, result.others)]) or "none"


def _short(kind: str) -> str:
    return kind.removeprefix("AWS::")


def _shown(values: Mapping[str, Any], key: str) -> str:
    """The value of the key as the file has it; without it, its default where that is short."""
    value: Any = values
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if value is None and "." not in key:
        default = Cluster.model_fields[key].get_default(call_default_factory=True, validated_data={})
        value = default if isinstance(default, (str, int)) else None
    if value is None:
        return "the default"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def page() -> str:
    effects = [f"| {name} | {what} | {running} |" for name, what, running in MEANINGS.values()]
    head = "| key | example | effect | running jobs | resources that change, the cause in bold |"
    rows = [row(change) for change in CHANGES]
    return "\n".join([HEAD + "\n".join(effects), "\n## Keys\n", head, "| --- | --- | --- | --- | --- |", *rows, ""])


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, page()))
