"""From roster to command line and environment."""

from __future__ import annotations

import json
import sys

import pytest

from mnp.node.__main__ import main
from mnp.node.card import Card
from mnp.node.environment import node_environment, processes_of
from mnp.node.launchers import LAUNCHERS, Job, Launch
from mnp.node.launchers.awaiting import awaiting
from mnp.node.rendezvous.roster import Roster

ROSTER = Roster(tuple(Card(index, f"10.0.0.{index}", "host") for index in range(3)), 1, 29501)

TOKEN = "a1b2"  # noqa: S105 - nobody's


def launched(name: str, index: int, *command: str, processes: int = 8) -> Launch:
    return LAUNCHERS[name](Job(ROSTER, index, command, processes, "/job", token=TOKEN))


def test_torchrun_starts_at_the_main_node() -> None:
    """The torchrun command gets the main node as rank 0 and its address as master, by address and not by name."""
    launch = launched("torchrun", 0, "train.py", "--lr", "1e-4")
    assert launch.argv == (
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--node-rank=1", "--nproc-per-node=8"),
        *("--master-addr=10.0.0.1", "--master-port=29501", "train.py", "--lr", "1e-4"),
    )
    assert launch.environ == {}
    assert "--node-rank=0" in launched("torchrun", 1).argv


def test_torchrun_with_c10d_looks_nothing_up_by_name() -> None:
    """The main node hosts the store, each node says its own address, and all wait for the store's port."""
    launch = launched("torchrun-c10d", 2, "train.py")
    assert launch.argv == (
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--nproc-per-node=8", "--rdzv-backend=c10d"),
        *("--rdzv-endpoint=10.0.0.1:29501", "--rdzv-id=mnp", "--rdzv-conf=is_host=false,join_timeout=180"),
        *("--local-addr=10.0.0.2", "train.py"),
    )
    assert launch.awaits_port == 29501
    assert "--rdzv-conf=is_host=true,join_timeout=180" in launched("torchrun-c10d", 1).argv


def test_env_gives_the_variables_of_torch_distributed() -> None:
    """The plain launcher runs the command itself, and leaves a host file."""
    launch = launched("env", 2, "./train", "x", processes=1)
    assert launch.argv == ("./train", "x")
    assert launch.environ == {
        "RANK": "2",
        "WORLD_SIZE": "3",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": "2",
        "GROUP_WORLD_SIZE": "3",
        "NODE_RANK": "2",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29501",
        "MNP_HOSTFILE": "/job/hostfile",
    }
    assert launch.files == {"hostfile": "10.0.0.1 slots=1\n10.0.0.0 slots=1\n10.0.0.2 slots=1\n"}


def test_env_runs_a_process_per_gpu() -> None:
    """With 8 processes per node the second node's first rank is 8, and a program beside the command counts them up."""
    launch = launched("env", 0, "./train")
    assert launch.argv == (sys.executable, "/job/local_ranks.py", "8", "./train")
    assert (launch.environ["RANK"], launch.environ["WORLD_SIZE"], launch.environ["NODE_RANK"]) == ("8", "24", "1")
    assert set(launch.files) == {"hostfile", "local_ranks.py"}


def test_tensorflow_names_all_workers() -> None:
    """TF_CONFIG has every node in order of rank, the main node first, each with a port, and the node's own place."""
    launch = launched("tensorflow", 2, "python3", "train.py")
    assert launch.argv == ("python3", "train.py")
    assert json.loads(launch.environ["TF_CONFIG"]) == {
        "cluster": {"worker": ["10.0.0.1:29501", "10.0.0.0:29502", "10.0.0.2:29503"]},
        "task": {"type": "worker", "index": 2},
    }


def test_ports_stay_in_range() -> None:
    """A thousand nodes get a thousand ports, none of them privileged, wherever the main node's port is."""
    cards = tuple(Card(index, "10.0.0.1", "host") for index in range(1000))
    job = Job(Roster(cards, 0, 65000), 0, (), 1, "/job")
    ports = {job.port(rank) for rank in range(1000)}
    assert len(ports) == 1000
    assert (min(ports), max(ports), job.port(0)) == (1024, 65535, 65000)


def test_jax_gets_its_coordinator() -> None:
    """The main node is the coordinator and process 0."""
    assert launched("jax", 0, "python3", "train.py").environ == {
        "JAX_COORDINATOR_ADDRESS": "10.0.0.1:29501",
        "JAX_NUM_PROCESSES": "3",
        "JAX_PROCESS_ID": "1",
    }


def test_ray_runs_the_command_on_the_main_node_alone() -> None:
    """The head counts the nodes before the command; the others serve it, once its port is open."""
    head, worker = launched("ray", 1, "python3", "a.py", "--", "x"), launched("ray", 0, "python3", "a.py")
    start = (sys.executable, "-m", "ray.scripts.scripts", "start", "--block")
    addresses = ("10.0.0.1", "10.0.0.0", "10.0.0.2")
    assert head.argv == (
        *(sys.executable, "/job/ray_head.py", *start, "--node-ip-address=10.0.0.1", "--temp-dir=/job/own", "--head"),
        *("--port=29501", "--include-dashboard=false"),
        *("--", sys.executable, "/job/await_port.py", "1", "10.0.0.1", "29501", "180"),
        *("--", sys.executable, "/job/ray_nodes.py", "10.0.0.1:29501", "180", *addresses),
        *("--", "python3", "a.py", "--", "x"),
    )
    assert set(head.files) == {"ray_head.py", "await_port.py", "ray_nodes.py"}
    assert worker.argv == (*start, "--node-ip-address=10.0.0.0", "--temp-dir=/job/own", "--address=10.0.0.1:29501")
    assert (worker.serves, worker.awaits_port, head.serves, head.awaits_port) == (True, 29501, False, None)
    assert head.environ["RAY_ADDRESS"] == worker.environ["RAY_ADDRESS"] == "10.0.0.1:29501"
    assert head.environ["RAY_AUTH_TOKEN"] == worker.environ["RAY_AUTH_TOKEN"] == TOKEN


def test_ray_keeps_its_sockets_in_reach() -> None:
    """In a folder whose path is too long for a socket's, Ray keeps its own."""
    launch = LAUNCHERS["ray"](Job(ROSTER, 0, ("x",), 1, f"/{'long' * 20}"))
    assert [word for word in launch.argv if word.startswith("--temp-dir")] == []


def test_nodes_wait_for_the_main_nodes_port() -> None:
    """What waits is a command before all others, which names main node and port; the main node waits for nothing."""
    wanted = Launch(("x",), before=(("y",),), awaits_port=29501)
    launch = awaiting(wanted, Job(ROSTER, 2, ("x",), 1, "/job"))
    assert launch.before == ((sys.executable, "/job/await_port.py", "1", "10.0.0.1", "29501", "300"), ("y",))
    assert set(launch.files) == {"await_port.py"}
    assert awaiting(wanted, Job(ROSTER, 1, ("x",), 1, "/job")) is wanted


def test_what_the_user_has_set_stays() -> None:
    """Interface and threads are defaults; the cluster's secret does not reach the user's process."""
    inherited = {"NCCL_SOCKET_IFNAME": "^lo", "MNP_SECRET": "x", "PATH": "/bin", "MNP_NODE_INDEX": "9"}
    assert node_environment(inherited, 2, "eth1") == {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "eth1",
        "NCCL_SOCKET_IFNAME": "^lo",
        "OMPI_MCA_oob_tcp_if_include": "eth1",
        "PRTE_MCA_prte_if_include": "eth1",
        "PATH": "/bin",
        "MNP_NODE_INDEX": "2",
        "MNP_LAUNCHED": "1",
    }
    assert "GLOO_SOCKET_IFNAME" not in node_environment({}, 0, None)


def test_one_process_per_gpu() -> None:
    """A node runs one process per GPU, one if it has none."""
    assert (processes_of(["H100"] * 8), processes_of([])) == (8, 1)


@pytest.mark.parametrize("launcher", ["jax", "ray", "tensorflow"])
def test_launchers_of_one_process_per_node_refuse_more(launcher: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A number that would change nothing is a mistake of usage."""
    with pytest.raises(SystemExit) as ended:
        main(["launch", "--with", launcher, "--processes-per-node", "8", "--", "python3", "train.py"])
    assert ended.value.code == 2
    expected = f"--processes-per-node: {launcher} runs one process per node, which uses all its devices"
    assert expected in capsys.readouterr().err
