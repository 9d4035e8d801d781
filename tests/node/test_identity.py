"""Who a node is, by what environment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from mnp.node import identity, network
from mnp.node.environment import node_environment
from mnp.node.identity import Identity, IdentityError
from mnp.node.identity.choice import decide

BATCH_MAIN = {
    "AWS_BATCH_JOB_ID": "abc#0",
    "AWS_BATCH_JOB_ATTEMPT": "2",
    "AWS_BATCH_JOB_NUM_NODES": "4",
    "AWS_BATCH_JOB_NODE_INDEX": "0",
    "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
}
BATCH = {
    **BATCH_MAIN,
    "AWS_BATCH_JOB_ID": "abc#3",
    "AWS_BATCH_JOB_NODE_INDEX": "3",
    "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "127.0.0.1",
}
INDEXED_JOB = {
    "JOB_COMPLETION_INDEX": "1",
    "MNP_NODE_COUNT": "4",
    "MNP_JOB_ID": "2f0c",
    "MNP_MAIN_ADDRESS": "train-0.train",
}
JOBSET = {
    "JOB_COMPLETION_INDEX": "1",
    "JOBSET_NAME": "train",
    "REPLICATED_JOB_NAME": "workers",
    "JOBSET_RESTART_ATTEMPT": "2",
    "MNP_NODE_COUNT": "4",
}
SLURM = {
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
    "SLURM_NODEID": "2",
    "SLURM_NNODES": "8",
    "SLURM_JOB_NODELIST": "gpu[01-08]",
    "SLURM_STEP_NUM_NODES": "4",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "gpu[03-05,7]",
    "SLURM_RESTART_COUNT": "1",
}
PLAIN = {"MNP_NODE_INDEX": "1", "MNP_NODE_COUNT": "3", "MNP_JOB_ID": "run-1", "MNP_MAIN_ADDRESS": "127.0.0.1"}


def found(environ: Mapping[str, str], seconds: float = 0) -> Identity:
    return asyncio.run(identity.from_environment(environ, seconds))


def test_main_node_finds_its_own_address_by_ecs_metadata(ecs_metadata: str) -> None:
    """The main node, which gets no main address from Batch, listens at the address ECS names."""
    own = found({**BATCH_MAIN, "ECS_CONTAINER_METADATA_URI_V4": ecs_metadata})
    assert own == Identity("abc", 2, 0, 0, 4, "127.0.0.1", "127.0.0.1", identity.DEFAULT_PORT)
    assert own.is_main


def test_other_node_takes_the_address_of_the_route_to_the_main_node() -> None:
    """Without metadata a node's own address is the one that reaches the main node."""
    own = found({**BATCH, "MNP_RENDEZVOUS_PORT": "1234"})
    assert own == Identity("abc", 2, 3, 0, 4, "127.0.0.1", "127.0.0.1", 1234)
    assert not own.is_main


def test_metadata_that_does_not_answer_leaves_the_route() -> None:
    """A metadata endpoint that is down does not stop a node that has a route."""
    dead = f"http://127.0.0.1:{network.free_port()}/v4"
    assert found({**BATCH, "ECS_CONTAINER_METADATA_URI_V4": dead}).address == "127.0.0.1"


@pytest.mark.parametrize(
    ("environ", "job_id"),
    [
        ({}, "local"),
        ({"AWS_BATCH_JOB_ID": "abc:7", "AWS_BATCH_JOB_ATTEMPT": "1"}, "abc:7"),
        ({"MNP_JOB_ID": ""}, "local"),
    ],
)
def test_without_nodes_to_join_a_node_is_alone(environ: dict[str, str], job_id: str) -> None:
    """On any machine, and in a job of AWS Batch that is none of many nodes, the node code is a job of one node."""
    own = found(environ)
    assert (own.job_id, own.attempt, own.index, own.count, own.is_main) == (job_id, 1, 0, 1, True)
    assert own.address == own.main_address


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param(BATCH, ("abc", 2, 3, 0, 4, "127.0.0.1"), id="AWS Batch"),
        pytest.param(INDEXED_JOB, ("2f0c", 1, 1, 0, 4, "train-0.train"), id="Indexed Job"),
        pytest.param(JOBSET, ("train", 3, 1, 0, 4, "train-workers-0-0.train"), id="JobSet"),
        pytest.param(
            {**JOBSET, "JOB_INDEX": "1", "REPLICATED_JOB_REPLICAS": "2", "JOBSET_UID": "9-9"},
            ("9-9", 3, 3, 0, 4, "train-workers-0-0.train"),
            id="JobSet with replicas",
        ),
        pytest.param(
            {**JOBSET, "MNP_NODE_INDEX": "3", "MNP_MAIN_ADDRESS": "train-driver-0-0.nodes"},
            ("train", 3, 3, 0, 4, "train-driver-0-0.nodes"),
            id="JobSet with several kinds of jobs",
        ),
        pytest.param(SLURM, ("77.0", 2, 2, 0, 4, "gpu03"), id="Slurm step"),
        pytest.param(
            {"SLURM_JOB_ID": "77", "SLURM_NNODES": "1", "SLURM_JOB_NODELIST": "gpu1"},
            ("77", 1, 0, 0, 1, None),
            id="Slurm, one node",
        ),
        pytest.param(
            {**SLURM, "SLURM_STEP_NODELIST": "[gpu", "MNP_MAIN_ADDRESS": "10.1.1.1"},
            ("77.0", 2, 2, 0, 4, "10.1.1.1"),
            id="Slurm, node list that is not understood",
        ),
        pytest.param(PLAIN, ("run-1", 1, 1, 0, 3, "127.0.0.1"), id="MNP_*"),
        pytest.param(
            {
                "MNP_NODE_INDEX": "2",
                "MNP_NODE_COUNT": "3",
                "MNP_JOB_ID": "x",
                "MNP_MAIN_INDEX": "2",
                "MNP_ATTEMPT": "5",
            },
            ("x", 5, 2, 2, 3, None),
            id="MNP_*, main node",
        ),
        pytest.param({**BATCH, **SLURM, **PLAIN}, ("run-1", 1, 1, 0, 3, "127.0.0.1"), id="MNP_* before all others"),
        pytest.param({**BATCH, "MNP_ATTEMPT": "7"}, ("abc", 7, 3, 0, 4, "127.0.0.1"), id="one of MNP_* before Batch's"),
    ],
)
def test_each_environment_says_who_a_node_is(environ: dict[str, str], expected: tuple[object, ...]) -> None:
    """Job, attempt, indices, count and where the main node is, from what each environment sets."""
    claim = decide(environ)
    assert (claim.job_id, claim.attempt, claim.index, claim.main_index, claim.count, claim.main) == expected


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({**BATCH, "AWS_BATCH_JOB_NUM_NODES": ""}, "AWS_BATCH_JOB_NUM_NODES is not set.*AWS_BATCH_JOB_NODE_INDEX=3"),
        ({**BATCH, "AWS_BATCH_JOB_ATTEMPT": ""}, "AWS_BATCH_JOB_ATTEMPT is not set"),
        (
            {**BATCH, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": ""},
            "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS is not set .*; or set MNP_MAIN_ADDRESS yourself",
        ),
        ({**BATCH, "AWS_BATCH_JOB_NUM_NODES": "3"}, "AWS_BATCH_JOB_NODE_INDEX says node 3 of 3; allowed: 0 to 2"),
        ({**BATCH, "AWS_BATCH_JOB_NODE_INDEX": "-1"}, "AWS_BATCH_JOB_NODE_INDEX is '-1'"),
        ({**BATCH, "AWS_BATCH_JOB_MAIN_NODE_INDEX": "7"}, "AWS_BATCH_JOB_MAIN_NODE_INDEX says node 7 of 4"),
        ({**BATCH, "AWS_BATCH_JOB_NUM_NODES": "four"}, "AWS_BATCH_JOB_NUM_NODES is 'four'"),
        ({**BATCH, "AWS_BATCH_JOB_NUM_NODES": "9" * 5000}, "AWS_BATCH_JOB_NUM_NODES is '9999"),
        ({**BATCH, "AWS_BATCH_JOB_NODE_INDEX": "2"}, "AWS_BATCH_JOB_ID names node 3, but the node index differs"),
        ({**BATCH, "MNP_RENDEZVOUS_PORT": "0"}, "MNP_RENDEZVOUS_PORT is '0'; allowed: 1 to 65535"),
        (
            {"JOB_COMPLETION_INDEX": "1"},
            r"Kubernetes: MNP_NODE_COUNT \(.*MNP_JOB_ID.*MNP_MAIN_ADDRESS.* not set \(seen: JOB_COMPLETION_INDEX=1",
        ),
        ({**JOBSET, "JOB_COMPLETION_INDEX": ""}, "JOB_COMPLETION_INDEX is not set .*JOBSET_NAME=train"),
        ({**JOBSET, "JOB_COMPLETION_INDEX": "4"}, "JOB_COMPLETION_INDEX says node 4 of 4"),
        ({**JOBSET, "REPLICATED_JOB_REPLICAS": "2"}, "JOB_INDEX is not set, but REPLICATED_JOB_REPLICAS=2"),
        (
            {**JOBSET, "REPLICATED_JOB_REPLICAS": "3", "JOB_INDEX": "0"},
            "MNP_NODE_COUNT is 4; allowed: a multiple of REPLICATED_JOB_REPLICAS=3",
        ),
        (
            {**SLURM, "SLURM_STEP_NUM_TASKS": "32"},
            "32 tasks on 4 nodes: .*; start the command by srun --ntasks-per-node=1",
        ),
        (
            {**SLURM, "SLURM_STEP_NODELIST": "", "SLURM_STEP_NUM_NODES": "", "SLURM_STEP_NUM_TASKS": ""},
            r"SLURM_STEP_NODELIST \(start the command by srun --ntasks-per-node=1\) is not set",
        ),
        ({**SLURM, "SLURM_STEP_NODELIST": "gpu[1-3]"}, "SLURM_STEP_NODELIST names 3 nodes, not 4"),
        ({**SLURM, "SLURM_STEP_NODELIST": "gpu[3-1]"}, "range '3-1' runs backwards; set MNP_MAIN_ADDRESS"),
        ({**SLURM, "MNP_MAIN_INDEX": "1"}, r"Slurm: MNP_MAIN_ADDRESS is not set \(seen: MNP_MAIN_INDEX=1"),
        (
            {"MNP_NODE_INDEX": "1"},
            r"MNP_NODE_COUNT, MNP_JOB_ID, MNP_MAIN_ADDRESS are not set \(seen: MNP_NODE_INDEX=1\)",
        ),
        ({**PLAIN, "MNP_NODE_INDEX": "3"}, "MNP_NODE_INDEX says node 3 of 3; allowed: 0 to 2"),
        (
            {**BATCH, **SLURM},
            r"Batch says node 3 of 4 \(.*_NODE_INDEX=3.*\), but Slurm says node 2 of 4 \(.*SLURM_NODEID=2.*\): unset",
        ),
        ({**BATCH, "JOB_COMPLETION_INDEX": "3"}, "Kubernetes says node 3 of unknown"),
    ],
)
def test_missing_or_contradictory_variables_are_named(environ: dict[str, str], expected: str) -> None:
    """A node that cannot know who it is says which variable is wrong and what it saw."""
    with pytest.raises(IdentityError, match=expected) as raised:
        found(environ)
    assert "\n" not in str(raised.value)


def test_two_environments_that_agree_are_no_contradiction() -> None:
    """Slurm on nodes of AWS Batch, say: the same node of as many is the same node."""
    claim = decide({**BATCH, **SLURM, "SLURM_NODEID": "3"})
    assert (claim.source, claim.index) == ("AWS Batch", 3)


@pytest.mark.parametrize("environ", [{}, BATCH, PLAIN], ids=["alone", "AWS Batch", "MNP_*"])
def test_a_launch_inside_of_a_launch_is_refused(environ: dict[str, str]) -> None:
    """A launched process is told its node's index, and is not mistaken for a node of its own by that."""
    inside = node_environment({**environ, "MNP_SECRET": "x"}, 1, None)
    assert inside["MNP_NODE_INDEX"] == "1"
    assert not {"MNP_SECRET", "MNP_NODE_COUNT", "MNP_MAIN_ADDRESS"} & set(inside)
    with pytest.raises(IdentityError, match="a launch has started this process"):
        found(inside)


def test_a_main_node_whose_name_appears_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod's name resolves once that pod is there: the name stays, and the way to it gives the own address."""
    answers = iter([OSError("no such name"), OSError("no such name"), "127.0.0.1"])
    looked_up = []

    def getaddrinfo(name: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        looked_up.append(name)
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return [(2, 1, 6, "", (answer, 0))]

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    monkeypatch.setattr(network, "_RESOLVE_PAUSE", 0)
    own = found(JOBSET, seconds=60)
    assert (own.address, own.main_address) == ("127.0.0.1", "train-workers-0-0.train")
    assert looked_up == ["train-workers-0-0.train"] * 3


@pytest.mark.parametrize("name", ["main.invalid", "x" * 70 + ".invalid"])
def test_a_main_node_without_an_address_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that never resolves ends the node with a message that says which, and what to set."""
    if len(name) < 64:
        monkeypatch.setattr("socket.getaddrinfo", _unknown)
    with pytest.raises(IdentityError, match=r"main node 0: .*invalid has no address after 0 s: .*set MNP_MAIN_ADDRESS"):
        found({**PLAIN, "MNP_MAIN_ADDRESS": name})


def _unknown(*_: object, **__: object) -> None:
    raise OSError("Name or service not known")


def test_a_main_node_must_hold_the_address_that_others_were_told() -> None:
    """An address of another host in MNP_MAIN_ADDRESS is found on the main node already."""
    with pytest.raises(IdentityError, match=r"this is the main node, but has no address 203.0.113.7"):
        found({**PLAIN, "MNP_NODE_INDEX": "0", "MNP_MAIN_ADDRESS": "203.0.113.7"})


def test_a_main_node_takes_the_address_that_others_were_told() -> None:
    """MNP_MAIN_ADDRESS chooses among the main node's addresses, be it an address or a name."""
    for told in ("127.0.0.1", "localhost"):
        own = found({**PLAIN, "MNP_NODE_INDEX": "0", "MNP_MAIN_ADDRESS": told})
        assert own.address == own.main_address == "127.0.0.1"


def test_interface_of_own_address_is_found() -> None:
    """The interface that holds an address is found, loopback for all of 127.0.0.0/8, none for a foreign address."""
    assert network.interface_of("127.0.0.1") == network.interface_of("127.9.9.9") == "lo"
    assert network.interface_of("203.0.113.7") is None
