"""Node ranges of multinode job definitions, and the overrides of them at submission. Pure.

Reference: https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeRangeProperty.html and
API_NodeOverrides.html (checked 2026-11-21).
"""

from __future__ import annotations

import copy
import re
from typing import Any, NamedTuple

from mnp.local_aws.batch.errors import ClientException

MAX_RANGES = 5
MAX_NODES = 1000
_RANGE = re.compile(r"(\d*)(:?)(\d*)")


class NodeRange(NamedTuple):
    """Nodes `first` to `last`, both included; `last` is None where the range is open."""

    first: int
    last: int | None

    def holds(self, index: int) -> bool:
        return self.first <= index and (self.last is None or index <= self.last)

    def size(self, nodes: int) -> int:
        return (nodes - 1 if self.last is None else self.last) - self.first + 1


def parse(text: str) -> NodeRange:
    """Return the range that `targetNodes` writes as `n`, `n:m`, `n:` or `:m`.

    Raises:
        ClientException: It is none of these.
    """
    match = _RANGE.fullmatch(text.strip())
    if not match or not (match[1] or match[3]):
        raise ClientException(f"targetNodes {text!r} is not a node range: give n, n:m, n: or :m")
    first = int(match[1] or 0)
    if not match[2]:
        return NodeRange(first, first)
    return NodeRange(first, int(match[3]) if match[3] else None)


def check(node_properties: dict[str, Any]) -> None:
    """Refuse node properties that Batch refuses.

    Raises:
        ClientException: Too many ranges, a gap, a bound or the main node beyond the number of nodes.
    """
    nodes, main = node_properties["numNodes"], node_properties["mainNode"]
    entries = node_properties["nodeRangeProperties"]
    if not 1 <= nodes <= MAX_NODES:
        raise ClientException(f"numNodes must be between 1 and {MAX_NODES}, not {nodes}")
    if not 0 <= main < nodes:
        raise ClientException(f"mainNode {main} must be at least 0 and less than numNodes, which is {nodes}")
    if not 1 <= len(entries) <= MAX_RANGES:
        raise ClientException(f"a job has 1 to {MAX_RANGES} node ranges, not {len(entries)}")
    for entry in entries:
        _check_range(entry, nodes)
    ranges = [parse(entry["targetNodes"]) for entry in entries]
    uncovered = [index for index in range(nodes) if not any(r.holds(index) for r in ranges)]
    if uncovered:
        raise ClientException(f"node ranges must account for all nodes: node {uncovered[0]} of {nodes} is in none")


def _check_range(entry: dict[str, Any], nodes: int) -> None:
    node_range = parse(entry["targetNodes"])
    last = node_range.first if node_range.last is None else node_range.last
    if not node_range.first <= last < nodes:
        raise ClientException(f"targetNodes {entry['targetNodes']!r} is not within the job's {nodes} nodes")
    if "container" not in entry:
        raise ClientException(
            f"the node range {entry['targetNodes']!r} has no container (ecsProperties and eksProperties are not "
            "modelled by the embedded AWS)"
        )


def overridden(node_properties: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the node properties with a submission's overrides applied.

    Raises:
        ClientException: The overrides do not fit the definition's ranges.
    """
    result = copy.deepcopy(node_properties)
    if "numNodes" in overrides:
        _set_number(result, overrides["numNodes"])
    by_range = {parse(entry["targetNodes"]): entry for entry in result["nodeRangeProperties"]}
    changes = overrides.get("nodePropertyOverrides", [])
    strangers = [c["targetNodes"] for c in changes if parse(c["targetNodes"]) not in by_range]
    if strangers:
        raise ClientException(
            "NodeOverride targets should match job definition. Non matching targets - " + ", ".join(strangers)
        )
    for change in changes:
        entry = by_range[parse(change["targetNodes"])]
        entry["container"] = overridden_container(entry["container"], change.get("containerOverrides", {}))
    return result


def _set_number(node_properties: dict[str, Any], nodes: int) -> None:
    ranges = [parse(entry["targetNodes"]) for entry in node_properties["nodeRangeProperties"]]
    if all(node_range.last is not None for node_range in ranges):
        raise ClientException(
            "numNodes can only be overridden when a node range of the job definition has an open upper bound (n:)"
        )
    node_properties["numNodes"] = nodes
    check(node_properties)


def overridden_container(container: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the container with a submission's containerOverrides applied."""
    result = copy.deepcopy(container)
    for name, value in overrides.items():
        if name == "environment":
            result[name] = _merged(result.get(name, []), value, "name")
        elif name == "resourceRequirements":
            result[name] = _merged(result.get(name, []), value, "type")
        else:
            result[name] = value
    return result


def _merged(old: list[dict[str, Any]], new: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return list({**{entry[key]: entry for entry in old}, **{entry[key]: entry for entry in new}}.values())


def containers(node_properties: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each node's container, by index. Of several ranges that hold a node the narrowest counts."""
    nodes = node_properties["numNodes"]
    ranges = [(parse(entry["targetNodes"]), entry["container"]) for entry in node_properties["nodeRangeProperties"]]
    ranges.sort(key=lambda pair: pair[0].size(nodes))
    return [next(container for r, container in ranges if r.holds(index)) for index in range(nodes)]
