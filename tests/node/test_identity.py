"""Who a node is."""

from __future__ import annotations

import pytest

from mnp.node import identity, network
from mnp.node.identity import Identity, IdentityError

MAIN = {
    "AWS_BATCH_JOB_ID": "abc#0",
    "AWS_BATCH_JOB_ATTEMPT": "2",
    "AWS_BATCH_JOB_NUM_NODES": "4",
    "AWS_BATCH_JOB_NODE_INDEX": "0",
    "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
}
OTHER = {
    **MAIN,
    "AWS_BATCH_JOB_ID": "abc#3",
    "AWS_BATCH_JOB_NODE_INDEX": "3",
    "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "127.0.0.1",
}


def test_main_node_finds_its_own_address_by_ecs_metadata(ecs_metadata: str) -> None:
    """The main node, which gets no main address from Batch, listens at the address ECS names."""
    own = identity.from_environment({**MAIN, "ECS_CONTAINER_METADATA_URI_V4": ecs_metadata})
    assert own == Identity("abc", 2, 0, 0, 4, "127.0.0.1", "127.0.0.1", identity.DEFAULT_PORT)
    assert own.is_main


def test_other_node_takes_the_address_of_the_route_to_the_main_node() -> None:
    """Without metadata a node's own address is the one that reaches the main node."""
    own = identity.from_environment({**OTHER, "MNP_RENDEZVOUS_PORT": "1234"})
    assert own == Identity("abc", 2, 3, 0, 4, "127.0.0.1", "127.0.0.1", 1234)
    assert not own.is_main


def test_metadata_that_does_not_answer_leaves_the_route() -> None:
    """A metadata endpoint that is down does not stop a node that has a route."""
    dead = f"http://127.0.0.1:{network.free_port()}/v4"
    assert identity.from_environment({**OTHER, "ECS_CONTAINER_METADATA_URI_V4": dead}).address == "127.0.0.1"


def test_without_batch_a_node_is_alone() -> None:
    """On any machine the node code runs as a job of one node."""
    own = identity.from_environment({})
    assert (own.job_id, own.index, own.count, own.is_main) == ("local", 0, 1, True)
    assert own.address == own.main_address


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"AWS_BATCH_JOB_NUM_NODES": ""}, "AWS_BATCH_JOB_NUM_NODES is not set.*AWS_BATCH_JOB_NODE_INDEX=3"),
        ({"AWS_BATCH_JOB_ATTEMPT": ""}, "AWS_BATCH_JOB_ATTEMPT is not set"),
        ({"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": ""}, "PRIVATE_IPV4_ADDRESS is not set on a node that is not"),
        ({"AWS_BATCH_JOB_NODE_INDEX": "4"}, "AWS_BATCH_JOB_NODE_INDEX is '4'; allowed: 0 to 3"),
        ({"AWS_BATCH_JOB_NODE_INDEX": "-1"}, "AWS_BATCH_JOB_NODE_INDEX is '-1'"),
        ({"AWS_BATCH_JOB_MAIN_NODE_INDEX": "7"}, "AWS_BATCH_JOB_MAIN_NODE_INDEX is '7'; allowed: 0 to 3"),
        ({"AWS_BATCH_JOB_NUM_NODES": "four"}, "AWS_BATCH_JOB_NUM_NODES is 'four'"),
        ({"AWS_BATCH_JOB_NODE_INDEX": "2"}, "AWS_BATCH_JOB_ID names node 3, but the node index differs"),
        ({"MNP_RENDEZVOUS_PORT": "0"}, "MNP_RENDEZVOUS_PORT is '0'; allowed: 1 to 65535"),
    ],
)
def test_missing_or_contradictory_variables_are_named(changes: dict[str, str], expected: str) -> None:
    """A node that cannot know who it is says which variable is wrong and what it saw."""
    with pytest.raises(IdentityError, match=expected):
        identity.from_environment({**OTHER, **changes})


def test_interface_of_own_address_is_found() -> None:
    """The interface that holds an address is found, loopback for all of 127.0.0.0/8, none for a foreign address."""
    assert network.interface_of("127.0.0.1") == network.interface_of("127.9.9.9") == "lo"
    assert network.interface_of("203.0.113.7") is None
