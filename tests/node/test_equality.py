"""Whether the nodes of a job are alike, and what is said of those that are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mnp.node.card import Card
from mnp.node.rendezvous.equality import EqualityError, differences, refuses

H200, H100 = "NVIDIA H200", "NVIDIA H100"
USUAL = Card(
    index=0,
    address="10.0.0.0",
    hostname="host",
    gpus=(H200,) * 8,
    efa_devices=tuple(f"rdmap{number}s0" for number in range(16)),
    instance_type="p5en.48xlarge",
    versions={"driver": "570.1", "torch": "2.8.0"},
)


def _nodes(*odd: dict[str, Any]) -> list[Card]:
    """Two usual nodes, and one more for each of the changes."""
    changes = [{}, {}, *odd]
    return [replace(USUAL, index=index, address=f"10.0.0.{index}", **each) for index, each in enumerate(changes)]


@pytest.mark.parametrize(
    ("changes", "refuses_job", "message"),
    [
        (
            {"instance_type": "p5.48xlarge"},
            True,
            "instance type: node 2 (10.0.0.2) has p5.48xlarge; 2 nodes have p5en.48xlarge",
        ),
        ({"gpus": (H200,) * 7}, True, f"GPUs: node 2 (10.0.0.2) has 7 x {H200}; 2 nodes have 8 x {H200}"),
        ({"gpus": ()}, True, f"GPUs: node 2 (10.0.0.2) has no GPU; 2 nodes have 8 x {H200}"),
        ({"gpus": (H100,) * 8}, True, f"GPUs: node 2 (10.0.0.2) has 8 x {H100}; 2 nodes have 8 x {H200}"),
        ({"neuron_devices": ("neuron0",)}, True, "Trainium devices: node 2 (10.0.0.2) has 1; 2 nodes have 0"),
        ({"efa_devices": ()}, False, "EFA devices: node 2 (10.0.0.2) has 0; 2 nodes have 16"),
        (
            {"versions": {"driver": "560.0", "torch": "2.8.0"}},
            False,
            "version of driver: node 2 (10.0.0.2) has 560.0; 2 nodes have 570.1",
        ),
    ],
)
def test_an_odd_node_is_named(changes: dict[str, Any], refuses_job: object, message: str) -> None:
    """Each difference is one line that names the odd node against the majority; hardware refuses the job."""
    (found,) = differences(_nodes(changes))
    assert (found.message, found.refuses, found.node) == (message, refuses_job, 2)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hostname": "other"},
        {"instance_type": None},
        {"versions": {"driver": "570.1"}},
        {"efa_devices": tuple(f"rdmap{number}s0" for number in range(100, 116))},
    ],
)
def test_what_is_not_known_or_not_hardware_is_no_difference(changes: dict[str, Any]) -> None:
    """Names, and facts that a node cannot say of itself, make no node odd."""
    assert differences(_nodes(changes)) == []


def test_many_odd_nodes_make_one_short_line() -> None:
    """Of many odd nodes the first four are named and the others counted."""
    (found,) = differences([replace(USUAL, index=9)] * 30 + _nodes(*[{"gpus": (H200,) * 7}] * 20))
    assert found.message.count("10.0.0.") == 4
    assert "16 more nodes differ; 32 nodes have 8" in found.message


def test_several_differences_come_in_order_of_weight() -> None:
    """What refuses the job comes before what is only said."""
    found = differences(_nodes({"gpus": (), "instance_type": "c7i.large", "efa_devices": ()}))
    assert [difference.message.partition(":")[0] for difference in found] == ["instance type", "GPUs", "EFA devices"]


def test_the_policy_is_refuse_unless_said() -> None:
    """MNP_UNEQUAL_NODES=warn lets unequal nodes run; any other word but refuse is an error."""
    assert refuses({})
    assert refuses({"MNP_UNEQUAL_NODES": "refuse"})
    assert not refuses({"MNP_UNEQUAL_NODES": "warn"})
    with pytest.raises(EqualityError, match="MNP_UNEQUAL_NODES is 'no'; allowed: refuse, warn"):
        refuses({"MNP_UNEQUAL_NODES": "no"})
