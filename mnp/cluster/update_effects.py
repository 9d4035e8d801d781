"""What a change of each key does to a cluster that is deployed: read from update_effects.json.

The file is written by tools/write_update_effects.py, which derives it from templates before and after each change.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from mnp.cluster.capacity import CapacityBlock
from mnp.cluster.model import Cluster
from mnp.cluster.plan import network_stack


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A change of one key. `to` holds the new values of which it speaks, and is empty where it speaks of all."""

    key: str
    to: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdateEffect:
    """One effect of `cdk deploy`, what it means, and the keys whose change has it; `effect` is its name for scripts."""

    effect: str
    name: str
    what: str
    running_jobs: str
    changes: tuple[KeyChange, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """A judged change of a key; `situations` are the kinds of cluster on which it has the effect."""

    key: str
    to: str | None
    effect: str
    notes: tuple[str, ...]
    situations: frozenset[str]


def situation(cluster: Cluster) -> str:
    """The kind of cluster, as far as what a change does may depend on it: which VPC, and whether a capacity block."""
    block = " in a CapacityBlock" if isinstance(cluster.capacity, CapacityBlock) else ""
    return f"{type(cluster.vpc).__name__}{block}"


def has(cluster: Cluster, key: str) -> bool:
    """Whether the cluster's file may have the dotted key, given the alternatives that it chose."""
    value: Any = cluster
    for name in key.split("."):
        if not (isinstance(value, BaseModel) and name in type(value).model_fields):
            return False
        value = getattr(value, name)
    return True


def kind_of_value(cluster: Cluster, key: str) -> str:
    """A short word for the key's value: of an alternative with keys of its own these keys, else the value."""
    value: Any = cluster
    for name in key.split("."):
        value = getattr(value, name)
    return ", ".join(type(value).model_fields) if isinstance(value, BaseModel) else str(value)


def generalised(note: str, cluster: Cluster) -> str:
    """The note about this cluster as one about any: placeholders for the names of its own."""
    for placeholder, own in _names(cluster).items():
        note = note.replace(own, placeholder)
    return note


def _own(note: str, cluster: Cluster) -> str:
    for placeholder, own in _names(cluster).items():
        note = note.replace(placeholder, own)
    return note


def _names(cluster: Cluster) -> dict[str, str]:
    """The names that notes speak of, longer ones first, since they may hold the others."""
    network = network_stack(cluster)
    return ({"{network stack}": network} if network else {}) | {"{name}": cluster.name}


def update_effects(cluster: Cluster) -> tuple[UpdateEffect, ...]:
    """The effects that a change of this cluster's file can have, mildest first, each with its keys."""
    meanings, rows = _tables()
    here = situation(cluster)
    fitting = [row for row in rows if here in row.situations and has(cluster, row.key)]
    effects_of: dict[str, set[str]] = {}
    for row in fitting:
        effects_of.setdefault(row.key, set()).add(row.effect)
    mixed = {key for key, effects in effects_of.items() if len(effects) > 1}
    # A row that goes to what the cluster has already tells of the way there from elsewhere.
    told = [row for row in fitting if row.key not in mixed or row.to != kind_of_value(cluster, row.key)]
    return tuple(
        UpdateEffect(effect, meaning["name"], meaning["what"], meaning["running_jobs"], changes)
        for effect, meaning in meanings.items()
        if (changes := _changes([row for row in told if row.effect == effect], mixed, cluster))
    )


def _changes(rows: Sequence[_Row], mixed: Container[str], cluster: Cluster) -> tuple[KeyChange, ...]:
    """Each key of the rows once; of a key in `mixed`, whose effect depends on the new value, with these values."""
    by_key: dict[str, list[_Row]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    return tuple(
        KeyChange(
            key,
            tuple(row.to for row in same if row.to) if key in mixed else (),
            tuple(dict.fromkeys(_own(note, cluster) for row in same for note in row.notes)),
        )
        for key, same in by_key.items()
    )


@cache
def _tables() -> tuple[Mapping[str, dict[str, str]], tuple[_Row, ...]]:
    """Meanings by effect, mildest first, and all rows."""
    file = resources.files(__package__).joinpath("update_effects.json")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    rows = tuple(
        _Row(row["key"], row["to"], row["effect"], tuple(row["notes"]), frozenset(row["situations"]))
        for row in document["changes"]
    )
    return MappingProxyType(document["effects"]), rows
