"""The command lines of mpirun, horovodrun and deepspeed."""

from __future__ import annotations

from mnp.node.card import Card
from mnp.node.environment import node_environment
from mnp.node.launchers import LAUNCHERS, Job, Launch
from mnp.node.rendezvous.roster import Roster

CARDS = tuple(Card(index, f"10.0.0.{index}", "host") for index in range(3))
HOSTFILE = "10.0.0.1 slots=8\n10.0.0.0 slots=8\n10.0.0.2 slots=8\n"


def launched(name: str, index: int, cards: tuple[Card, ...] = CARDS, interface: str | None = "ens32") -> Launch:
    main_index = 1 if len(cards) > 1 else 0
    return LAUNCHERS[name](Job(Roster(cards, main_index, 29501), index, ("train", "-x"), 8, "/job", interface))


def test_mpirun_runs_on_the_main_node_over_all_addresses() -> None:
    """Open MPI gets every node by address, the main node first, with a slot for each process; the others only serve."""
    launch = launched("mpirun", 1)
    assert " ".join(launch.argv) == "mpirun --hostfile /job/hostfile -np 24 --map-by slot --bind-to none train -x"
    assert launch.files == {"hostfile": HOSTFILE}
    assert launch.needs_ssh
    for index in (0, 2):
        other = launched("mpirun", index)
        assert (other.argv, other.needs_ssh, other.environ) == ((), True, launch.environ)


def test_mpi_ranks_know_the_main_node_and_may_be_root() -> None:
    """Programs that join torch.distributed by MPI's ranks find the main node; containers run as root."""
    assert launched("mpirun", 0).environ == {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29501",
    }


def test_horovodrun_gets_hosts_and_interface() -> None:
    """The main node starts all of Horovod's processes, over gloo and on the nodes' own interface."""
    launch = launched("horovod", 1)
    hosts = "10.0.0.1:8,10.0.0.0:8,10.0.0.2:8"
    expected = f"horovodrun --gloo -np 24 -H {hosts} --network-interfaces ens32 train -x"
    assert (" ".join(launch.argv), launch.needs_ssh) == (expected, True)
    assert launched("horovod", 0) == Launch((), needs_ssh=True)
    assert "--network-interfaces" not in launched("horovod", 1, interface=None).argv


def test_deepspeed_runs_on_every_node_without_ssh() -> None:
    """Each node runs its own share at its own rank, and the others wait for the main node's store."""
    launch = launched("deepspeed", 0)
    expected = "deepspeed --no_ssh --hostfile=/job/hostfile --node_rank=1 --master_addr=10.0.0.1 --master_port=29501"
    assert " ".join(launch.argv) == f"{expected} train -x"
    assert (launch.files, launch.needs_ssh, launch.awaits_port) == ({"hostfile": HOSTFILE}, False, 29501)
    assert "--node_rank=0" in launched("deepspeed", 1).argv


def test_a_single_node_needs_no_ssh() -> None:
    """A job of one node runs in an image without an SSH daemon."""
    for name in ("mpirun", "horovod"):
        launch = launched(name, 0, CARDS[:1])
        assert (launch.argv[0], launch.needs_ssh) == ({"horovod": "horovodrun"}.get(name, name), False)


def test_open_mpi_keeps_to_the_nodes_interface() -> None:
    """Open MPI leaves out Docker's bridge, and never gets interfaces to take beside ones to leave out."""
    others = ("lo", "docker0")
    names = ("OMPI_MCA_btl_tcp_if_exclude", "OMPI_MCA_oob_tcp_if_include", "PRTE_MCA_prte_if_include")

    def chosen(inherited: dict[str, str]) -> list[str | None]:
        environ = node_environment(inherited, 0, "ens32", others)
        return [environ.get(name) for name in names]

    assert chosen({}) == ["lo,docker0", "ens32", "ens32"]
    assert chosen({names[0]: "lo"}) == ["lo", "ens32", "ens32"]
    assert chosen({"OMPI_MCA_btl_tcp_if_include": "eth1"}) == [None, "ens32", "ens32"]
    assert chosen({"PRTE_MCA_prte_if_exclude": "lo"}) == ["lo,docker0", "ens32", None]
