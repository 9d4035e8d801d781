from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnp.cluster.names import (
    STACK_ENDINGS,
    cluster_stack_name,
    image_stack_name,
    network_stack_name,
    shared_network_stack_name,
)

words = st.from_regex(r"\A[a-z][a-z0-9-]{0,12}[a-z0-9]\Z")
names = st.builds(lambda word, ending: word + ending, words, st.sampled_from(["", *STACK_ENDINGS]))
cluster_names = names.filter(lambda name: not name.endswith(STACK_ENDINGS))


@given(cluster_names, cluster_names, names, st.sampled_from(["us-east-1", "us-gov-west-1"]))
def test_no_two_stacks_have_one_name(one: str, other: str, vpc: str, region: str) -> None:
    """Whatever clusters and shared VPCs are called, no stack of one is that of another."""
    of_cluster = (cluster_stack_name, network_stack_name, image_stack_name)
    stacks = [name(cluster) for cluster in {one, other} for name in of_cluster]
    stacks.append(shared_network_stack_name(vpc, region))
    assert len(set(stacks)) == len(stacks)


def test_the_reserved_endings_are_those_of_our_stacks() -> None:
    """Every stack but the cluster's own ends in a word that no cluster's name may end in."""
    others = [network_stack_name("x"), image_stack_name("x"), shared_network_stack_name("x", "us-east-1")]
    assert {name.rpartition("-")[2] for name in others} == {ending.removeprefix("-") for ending in STACK_ENDINGS}
