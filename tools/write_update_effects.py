"""Write what changes of the cluster file do, from the templates of pairs of files, so that it cannot lie.

Two files come of it: docs/update-effects.md, and mnp/cluster/update_effects.json, from which `mnp check` speaks.

python tools/write_update_effects.py           # write them
python tools/write_update_effects.py --check   # exit 1 if one is out of date
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from mnp.cluster import rules
from mnp.cluster.model import Cluster
from mnp.cluster.update_effects import generalised, has, kind_of_value, situation
from tools.generated_page import write_or_check
from tools.update_effects import ROOT, Effect, Finding, Templates, judge, synthesise

PAGE = ROOT / "docs" / "update-effects.md"
DATA = ROOT / "mnp" / "cluster" / "update_effects.json"

HEAD = """\
# What a change of the cluster file does

What `cdk deploy` does to a cluster that is there already when one key of its file changes. This page is generated: each
row comes from the templates before and after, by what CloudFormation's resource schemas say it can only replace and by
what AWS documents of updates in place. No row was tried on an AWS account.

Where several things change, the row names the worst. A row that speaks of some clusters only says so, and stands where
the effect is another on them. `mnp check FILE` prints the effects for a file of your own, `cdk diff -c cluster=FILE`
all that a deploy would change.

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


@dataclass(frozen=True, eq=False)
class Change:
    """Two cluster files that differ in `key`, and in the keys `along` that cannot stay when it changes.

    `note` says what else the change does to some clusters, where a row of their own would say too much.
    """

    key: str
    before: dict[str, Any]
    after: dict[str, Any]
    along: tuple[str, ...] = ()
    note: str = ""


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
_SHARED = {"name": "ml", "zones": ["us-east-1a", "us-east-1d"]}
_SHARED_IN_WEST = {"region": "us-west-2", "availability_zone": "us-west-2a", "vpc": _SHARED | {"zones": ["us-west-2a"]}}


def _change(key: str, before: Mapping[str, Any], after: Mapping[str, Any], *along: str, note: str = "") -> Change:
    return Change(key, {**_P5, **before}, {**_P5, **before, **after}, along, note)


# What a change does may depend on these: it is judged on every kind of cluster that it can be made on.
CAPACITIES: Mapping[str, dict[str, Any]] = {"": {}, "in a capacity block": _BLOCK}
VPCS: Mapping[str, dict[str, Any]] = {
    "": {},
    "in a shared VPC": {"vpc": _SHARED},
    "in an existing VPC": {"vpc": _THERE},
}


# tests/docs/test_update_effects.py judges it.
BAKED_ANEW = "Where `ami` says `pull_image: true`, the node image is baked anew, and later jobs get new nodes."
IMAGE_STAYS = f"On the way back the image's stack stays: `mnp-{_P5['name']}-image`, for you to delete."

CHANGES = (
    _change("name", {}, {"name": "p5-research"}),
    _change("region", {}, {"region": "us-west-2", "availability_zone": "us-west-2a"}, "availability_zone"),
    _change("region", {"vpc": _SHARED}, _SHARED_IN_WEST, "availability_zone", "vpc.zones"),
    _change("availability_zone", {}, {"availability_zone": "us-east-1a"}),
    _change("instance_type", {}, {"instance_type": "p5e.48xlarge"}),
    _change("max_nodes", {}, {"max_nodes": 16}),
    _change("capacity", {}, {"capacity": "reservations_only"}),
    _change("capacity", {"capacity": "reservations_only"}, {"capacity": "on_demand"}),
    _change("capacity", {}, {"capacity": {"reservation": "cr-0123456789abcdef0"}}),
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
    _change("vpc", {"vpc": _THERE}, {"vpc": {}}),
    _change("vpc", {}, {"vpc": _SHARED}),
    _change("vpc", {"vpc": _SHARED}, {"vpc": {}}),
    _change("vpc.cidr", {}, {"vpc": {"cidr": "10.1.0.0/16"}}),
    _change(
        "vpc.nat_gateway",
        {"vpc": {"interface_endpoints": True}, **_PRIVATE_IMAGE},
        {"vpc": {"interface_endpoints": True, "nat_gateway": False}},
    ),
    _change("vpc.interface_endpoints", {}, {"vpc": {"interface_endpoints": True}}),
    _change("vpc.name", {"vpc": _SHARED}, {"vpc": _SHARED | {"name": "ml-2"}}),
    _change("vpc.zones", {"vpc": _SHARED}, {"vpc": _SHARED | {"zones": ["us-east-1a", "us-east-1b", "us-east-1d"]}}),
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
    _change("ami", {}, {"ami": "prebaked"}, note=IMAGE_STAYS),
    _change("ami.prebaked", {}, {"ami": {"prebaked": {"pull_image": False}}}),
    _change(
        "ami.prebaked.pull_image",
        {"ami": {"prebaked": {"pull_image": False}}},
        {"ami": {"prebaked": {"pull_image": True}}},
    ),
    _change("ami.parameter", {"ami": {"parameter": "/images/gpu-1"}}, {"ami": {"parameter": "/images/gpu-2"}}),
    _change("efa_installer", {}, {"efa_installer": True}),
    _change("ssh_cidrs", {}, {"ssh_cidrs": ["10.0.0.0/8"]}),
    _change("ssh_open_to_world", {}, {"ssh_open_to_world": True}),
    _change("root_volume_gib", {}, {"root_volume_gib": 500}),
    _change("scratch", {}, {"scratch": True}),
    _change("image", {}, _PRIVATE_IMAGE, note=BAKED_ANEW),
    _change("max_job_hours", {}, {"max_job_hours": 48}),
    _change("max_queue_hours", {}, {"max_queue_hours": 12}),
    _change("tags", {}, {"tags": {"team": "research"}}),
)


def keys(model: type[BaseModel] = Cluster, prefix: str = "") -> Iterator[str]:
    """Every key of the cluster file, with those of a key's alternatives as key.inner."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        for inner in models(field.annotation):
            yield from keys(inner, f"{prefix}{name}.")


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models among the alternatives of a key."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models(inner)


@dataclass(frozen=True)
class Judged:
    """What a change does on one kind of cluster; `words` tell the kind where it is not the change's own."""

    words: tuple[str, ...]
    before: Cluster
    finding: Finding


@cache
def judged(change: Change) -> tuple[Judged, ...]:
    """What the change does as it stands in CHANGES, then on every other kind of cluster that it can be made on.

    Raises:
        UnclassifiedError: a changed property of which nothing says what that does.
    """
    found: dict[str, Judged] = {}
    for (vpc, in_vpc), (capacity, with_capacity) in itertools.product(VPCS.items(), CAPACITIES.items()):
        kind = in_vpc | with_capacity
        before, after = (_on(kind, values, change.key) for values in (change.before, change.after))
        own_kind = (kind.keys() - _open_keys(kind, change.key)) & (change.before.keys() | change.after.keys())
        if not own_kind and may_be_deployed(before) and may_be_deployed(after):
            finding = judge(*(_synthesised(json.dumps(values, sort_keys=True)) for values in (before, after)))
            finding = replace(finding, notes=(*finding.notes, *([change.note] if change.note else [])))
            words = tuple(word for word in (vpc, capacity) if word)
            cluster = Cluster.model_validate(before)
            found.setdefault(situation(cluster), Judged(words, cluster, finding))
    return tuple(found.values())


def _open_keys(kind: Mapping[str, Any], key: str) -> set[str]:
    """The part of the kind in which the change can be made: `vpc`, of a VPC that has the key."""
    part, dot, _ = key.partition(".")
    return {part} if dot and part in kind and has(Cluster.model_validate({**_P5, **kind}), key) else set()


def _on(kind: Mapping[str, Any], values: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The file of a cluster of this kind with these values, which may stand inside a part of the kind."""
    inside = {part: {**kind[part], **values.get(part, {})} for part in _open_keys(kind, key)}
    return {**kind, **values, **inside}


def may_be_deployed(values: Mapping[str, Any]) -> bool:
    """Whether the file passes the rules of `mnp check`."""
    cluster = Cluster.model_validate(values)
    found = rules.check({name: getattr(cluster, name) for name in Cluster.model_fields})
    return all(problem.level != "error" for problem in found)


@cache
def _synthesised(values: str) -> Templates:
    return synthesise(Cluster.model_validate(json.loads(values)))


def rows(change: Change) -> Iterator[str]:
    """A row of the page for the change, and one for each kind of cluster on which the effect is another."""
    example = f"{_shown(change.before, change.key)} to {_shown(change.after, change.key)}"
    for each in judged(change):
        expected = {other.finding.effect for other in judged(change) if set(other.words) < set(each.words)}
        if each.finding.effect not in expected:
            name, _, running = MEANINGS[each.finding.effect]
            where = ", ".join([example, *each.words])
            told = " ".join([running, *each.finding.notes])
            yield f"| `{change.key}` | {where} | {name} | {told} | {_resources(each.finding)} |"


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
    table = [head, "| --- | --- | --- | --- | --- |", *(row for change in CHANGES for row in rows(change))]
    return "\n".join([HEAD + "\n".join(effects), "\n## Keys\n", *table, ""])


def data() -> str:
    """The same for `mnp check`: a line for each meaning, and for each change and effect."""
    meanings = (
        f"{json.dumps(_identifier(effect))}: {json.dumps({'name': name, 'what': what, 'running_jobs': running})}"
        for effect, (name, what, running) in MEANINGS.items()
    )
    entries = (json.dumps(entry) for change in CHANGES for entry in _entries(change))
    between = ",\n    "
    return (
        f'{{\n  "effects": {{\n    {between.join(meanings)}\n  }},\n'
        f'  "changes": [\n    {between.join(entries)}\n  ]\n}}\n'
    )


def _identifier(effect: Effect) -> str:
    return effect.name.lower()


def _entries(change: Change) -> Iterator[dict[str, Any]]:
    """An entry for each different effect, with placeholders in its notes for the names of the cluster's own."""
    situations: dict[tuple[Effect, tuple[str, ...]], list[str]] = {}
    for each in judged(change):
        notes = tuple(generalised(note, each.before) for note in each.finding.notes)
        situations.setdefault((each.finding.effect, notes), []).append(situation(each.before))
    only_one = sum(other.key == change.key for other in CHANGES) == 1
    for (effect, notes), where in situations.items():
        yield {
            "key": change.key,
            "to": None if only_one else kind_of_value(Cluster.model_validate(change.after), change.key),
            "effect": _identifier(effect),
            "notes": notes,
            "situations": where,
        }


if __name__ == "__main__":
    sys.exit(max(write_or_check(PAGE, page()), write_or_check(DATA, data())))
