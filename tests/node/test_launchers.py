"""From roster to command line and environment."""

from __future__ import annotations

import sys

from mnp.node.card import Card
from mnp.node.environment import node_environment, processes_of
from mnp.node.launchers import LAUNCHERS, Job, Launch
from mnp.node.rendezvous import Roster

ROSTER = Roster(tuple(Card(index, f"10.0.0.{index}", "host") for index in range(3)), 1, 29501)


def launched(name: str, index: int, *command: str, processes: int = 8) -> Launch:
    return LAUNCHERS[name](Job(ROSTER, index, command, processes, "/job"))


def test_torchrun_starts_at_the_main_node() -> None:
    """The torchrun command gets the main node as rank 0 and its address as master, by address and not by name."""
    launch = launched("torchrun", 0, "train.py", "--lr", "1e-4")
    assert launch.argv == (
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--node-rank=1", "--nproc-per-node=8"),
        *("--master-addr=10.0.0.1", "--master-port=29501", "train.py", "--lr", "1e-4"),
    )
    assert launch.environ == {}
    assert "--node-rank=0" in launched("torchrun", 1).argv


def test_env_gives_the_variables_of_torch_distributed() -> None:
    """The plain launcher runs the command itself, once per node."""
    launch = launched("env", 2, "./train", "x")
    assert launch.argv == ("./train", "x")
    assert launch.environ == {
        "RANK": "2",
        "WORLD_SIZE": "3",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "NODE_RANK": "2",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29501",
    }


def test_what_the_user_has_set_stays() -> None:
    """Interface and threads are defaults; the cluster's secret does not reach the user's process."""
    inherited = {"NCCL_SOCKET_IFNAME": "^lo", "MNP_SECRET": "x", "PATH": "/bin", "MNP_NODE_INDEX": "9"}
    assert node_environment(inherited, 2, "eth1") == {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "eth1",
        "NCCL_SOCKET_IFNAME": "^lo",
        "PATH": "/bin",
        "MNP_NODE_INDEX": "2",
    }
    assert "GLOO_SOCKET_IFNAME" not in node_environment({}, 0, None)


def test_one_process_per_gpu() -> None:
    """A node runs one process per GPU, one if it has none."""
    assert (processes_of(["H100"] * 8), processes_of([])) == (8, 1)
