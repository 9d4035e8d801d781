from __future__ import annotations

from typing import Any

import pytest

from mnp.cluster.model import Cluster
from mnp.cluster.update_effects import KeyChange, update_effects
from tests.synth import P5

BLOCK = {"capacity": {"capacity_block": "cr-0123456789abcdef0"}}
EXISTING = {"vpc": {"id": "vpc-0123456789abcdef0", "subnet": "subnet-0123456789abcdef0"}}


def changes(**values: Any) -> dict[str, list[KeyChange]]:
    """The changes of a p5 cluster with these keys, by effect."""
    effects = update_effects(Cluster.model_validate(P5 | values))
    return {each.effect: list(each.changes) for each in effects}


def effects_of(key: str, **values: Any) -> dict[str, tuple[str, ...]]:
    """The effects of the key, each with the new values that have it."""
    return {effect: each.to for effect, all_ in changes(**values).items() for each in all_ if each.key == key}


def test_an_effect_without_keys_is_not_there() -> None:
    """Nobody reads of what cannot happen to the cluster; what can stands in the order of its weight."""
    assert [*changes(**BLOCK)] == ["nothing", "new_revision", "new_environment", "new_cluster", "refused"]
    assert [*changes(**EXISTING)] == ["nothing", "new_revision", "new_nodes", "new_environment", "new_cluster"]


@pytest.mark.parametrize("key", ["instance_type", "ami", "scratch", "tags", "root_volume_gib", "network_interfaces"])
def test_in_a_capacity_block_new_nodes_are_a_new_environment(key: str) -> None:
    """Batch updates no environment of a block in place, so running jobs end where elsewhere they go on."""
    assert [*effects_of(key)] == ["new_nodes"]
    assert [*effects_of(key, **BLOCK)] == ["new_environment"]


def test_keys_of_other_alternatives_are_left_out() -> None:
    """A cluster in an existing VPC is told of its subnet and not of a CIDR that it cannot have, and the reverse."""
    new, existing = ({each.key for all_ in changes(**vpc).values() for each in all_} for vpc in ({}, EXISTING))
    assert {"vpc", "vpc.cidr", "vpc.nat_gateway"} <= new
    assert {"vpc", "vpc.id", "vpc.subnet"} <= existing
    assert not {"vpc.id", "vpc.subnet", "ami.parameter", "capacity.capacity_block"} & new
    assert "vpc.cidr" not in existing


@pytest.mark.parametrize(
    ("capacity", "in_place"),
    [
        ("on_demand", {"reservations_only", "reservation"}),
        ("reservations_only", {"on_demand", "reservation"}),
        ({"reservation": "cr-0123456789abcdef0"}, {"on_demand", "reservations_only"}),
    ],
)
def test_a_key_whose_effect_depends_on_the_new_value_says_on_which(capacity: Any, in_place: set[str]) -> None:
    """To a capacity block is a new environment, to anything else new nodes; what the cluster has is no change."""
    found = effects_of("capacity", capacity=capacity)
    assert set(found["new_nodes"]) == in_place
    assert found["new_environment"] == ("capacity_block",)


def test_a_key_with_one_effect_names_no_values() -> None:
    """Out of a capacity block every way is the same."""
    assert effects_of("capacity", **BLOCK) == {"new_environment": ()}


def test_notes_speak_of_the_cluster_itself() -> None:
    """Stacks that are left behind have this cluster's name, and only those that it has."""
    notes = {each.key: each.notes for each in changes()["new_cluster"]}
    assert "Left behind, for you to delete: `mnp-test` and `mnp-test-network`." in notes["name"]
    notes = {each.key: each.notes for each in changes(**EXISTING)["new_cluster"]}
    assert "Left behind, for you to delete: `mnp-test`." in notes["name"]
    shared = {"vpc": {"name": "platform", "zones": ["us-east-1a", "us-east-1b"]}}
    notes = {each.key: each.notes for each in changes(**shared)["new_cluster"]}
    assert "`mnp-platform-us-east-1-vpc` stays for the clusters that share it." in " ".join(notes["region"])
