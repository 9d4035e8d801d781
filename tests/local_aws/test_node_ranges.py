"""Node ranges and overrides, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from mnp.local_aws.batch.errors import ClientException
from mnp.local_aws.batch.node_ranges import check, containers, overridden, parse


def properties(*targets: str, nodes: int = 4, main: int = 0) -> dict[str, Any]:
    entries = [{"targetNodes": target, "container": {"image": target}} for target in targets]
    return {"numNodes": nodes, "mainNode": main, "nodeRangeProperties": entries}


@pytest.mark.parametrize(
    ("text", "first", "last"), [("3", 3, 3), ("1:3", 1, 3), (":3", 0, 3), ("2:", 2, None), ("0:", 0, None)]
)
def test_all_forms_of_a_range_are_read(text: str, first: int, last: int | None) -> None:
    """n, n:m, :m and n: mean what AWS's reference says."""
    assert parse(text) == (first, last)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (properties("a:b"), "not a node range"),
        (properties(":"), "not a node range"),
        (properties("0:1", "3:"), "node 2 of 4 is in none"),
        (properties("0:4"), "not within the job's 4 nodes"),
        (properties("0:", "4:"), "not within the job's 4 nodes"),
        (properties("0", "1", "2", "3", "0:", "1:"), "1 to 5 node ranges, not 6"),
        (properties("0:", main=4), "mainNode 4"),
        (properties("0:", nodes=1001), "between 1 and 1000"),
    ],
)
def test_ill_formed_ranges_are_refused(given: dict[str, Any], message: str) -> None:
    """Gaps, bounds beyond the nodes, too many ranges and a main node out of range are refused."""
    with pytest.raises(ClientException, match=message):
        check(given)


def test_the_narrowest_range_gives_the_container() -> None:
    """Of nested ranges the inner one counts."""
    given = properties("0:", "0", "2:3")
    assert [container["image"] for container in containers(given)] == ["0", "0:", "2:3", "2:3"]


@pytest.mark.parametrize(
    ("given", "overrides", "message"),
    [
        (properties("0:3"), {"numNodes": 8}, "open upper bound"),
        (properties("0:", main=3), {"numNodes": 2}, "mainNode 3"),
        (properties("0", "1:2", "3:"), {"numNodes": 3}, "not within"),
        (
            properties("0:"),
            {"nodePropertyOverrides": [{"targetNodes": "0:0"}]},
            "NodeOverride targets should match job definition. Non matching targets - 0:0",
        ),
    ],
)
def test_overrides_that_do_not_fit_are_refused(given: dict[str, Any], overrides: dict[str, Any], message: str) -> None:
    """An override must name a range of the definition, and a number of nodes that the ranges can hold."""
    with pytest.raises(ClientException, match=message):
        overridden(given, overrides)


def test_overrides_leave_the_definition_alone() -> None:
    """Requirements and variables are merged by name, the rest replaced, in a copy."""
    given = properties("0:", nodes=1)
    container = given["nodeRangeProperties"][0]["container"]
    container |= {"environment": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "command": ["old"]}
    change = {"command": ["new"], "environment": [{"name": "B", "value": "3"}]}
    result = overridden(
        given, {"numNodes": 2, "nodePropertyOverrides": [{"targetNodes": "0:", "containerOverrides": change}]}
    )
    assert [c["command"] for c in containers(result)] == [["new"], ["new"]]
    assert containers(result)[1]["environment"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]
    assert (given["numNodes"], container["command"]) == (1, ["old"])
