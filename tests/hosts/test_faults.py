"""Whatever happens to one node, the main node names it and every node ends, with all it has started."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen

import pytest

from tests.hosts.batch_job import batch_variables
from tests.hosts.lab import Host, Lab, why_not
from tests.synth import ROOT

pytestmark = pytest.mark.end_to_end

# The child is in a session of its own, as torchrun's workers are, and ignores SIGTERM, as TensorFlow does.
CHILD = "import signal; signal.signal(15, signal.SIG_IGN); print('child runs', flush=True); signal.pause()"
FOR_EVER = f"""
import os, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
print("rank", os.environ["RANK"], "runs", flush=True)
signal.pause()
"""
BOUNDS = ("--heartbeat-timeout=1", "--grace=1", "--rendezvous-timeout=20")
LOST = "it was not heard from for 1 s: its host, network or launcher is down"
TEMPORARY = "/tmp"  # noqa: S108 - where nodes run
HANG = 60  # seconds; a test that takes longer has found a hang


class Cluster:
    """Three hosts on which one job runs."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.nodes: list[Popen[str]] = []
        self.outputs: list[str] = []

    def add(self, host: int, program: str, *options: str, index: int | None = None, **environ: str) -> Popen[str]:
        """Start a node, whose index is the host's unless given."""
        index = host if index is None else index
        batch = {
            **batch_variables(self.lab, index),
            "TMPDIR": "/dev/shm",  # noqa: S108 - the host's own, which goes with it
            **environ,
        }
        launch = ("env", "-C", TEMPORARY, sys.executable, "-m", "mnp.node", "launch", "--with=env", *BOUNDS, *options)
        command = (*launch, "--", sys.executable, "-c", program)
        node = self.lab[host].popen(*command, environ=batch, stdout=PIPE, stderr=STDOUT)
        self.nodes.append(node)
        return node

    def start(self, *programs: str, options: Sequence[str] = ()) -> None:
        """Start all three nodes, with these programs or with one that never ends; then wait until all run."""
        for host in range(3):
            self.add(host, programs[host] if programs else FOR_EVER, *options)
        self.wait_for("runs")

    def wait_for(self, text: str, nodes: Sequence[int] = (0, 1, 2)) -> None:
        """Read these nodes' output until the text is in it."""
        self.outputs = self.outputs or [""] * len(self.nodes)
        for index in nodes:
            stdout = self.nodes[index].stdout
            assert stdout is not None
            for line in stdout:
                self.outputs[index] += line
                if text in line:
                    break
            else:
                raise AssertionError(f"node {index} never wrote {text!r}: {self.outputs[index]}")

    def read_all(self, index: int) -> None:
        """Read the node's output until it has ended."""
        node = self.nodes[index]
        if node.stdout and not node.stdout.closed:
            alarm = threading.Timer(HANG, self.lab[index].power_off)
            alarm.start()
            self.outputs[index] += node.stdout.read()
            node.stdout.close()
            node.wait()
            alarm.cancel()

    def end(self) -> list[int]:
        """Every node's exit code, after all have ended; no traceback is ours and no process is left on any host."""
        self.outputs = self.outputs or [""] * len(self.nodes)
        for index in range(len(self.nodes)):
            self.read_all(index)
        assert all("mnp/node" not in output for output in self.outputs), self.outputs
        assert [host.processes() for host in self.lab.hosts] == [[], [], []]
        return [node.returncode for node in self.nodes]

    def failure(self, index: int) -> str:
        """The line in which a node says what failed."""
        (line,) = [line for line in self.outputs[index].splitlines() if "[mnp] failed: " in line]
        return line.partition("[mnp] failed: ")[2]


def launcher(host: Host) -> str:
    """The id on the host of the process that launches: the one below the process that was started."""
    rows = [row.split(None, 2) for row in host.run("ps", "-eo", "pid=,ppid=,args=").stdout.splitlines()]
    ours = {pid: parent for pid, parent, command in rows if "mnp.node launch" in command}
    (found,) = [pid for pid, parent in ours.items() if parent in ours]
    return found


def send(host: Host, number: signal.Signals, pid: str) -> None:
    host.run("kill", f"-{number.value}", pid)


def rank(host: Host) -> str:
    """The id on the host of the user's process."""
    (child,) = host.run("pgrep", "-P", launcher(host)).stdout.split()
    return child


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    if reason := why_not():
        pytest.skip(reason)
    with Lab(3) as lab:
        found = Cluster(lab)
        yield found
    for node in found.nodes:
        with node:
            pass


def test_a_killed_rank(cluster: Cluster) -> None:
    """SIGKILL to one process ends the job with that process's exit code and its last words."""
    cluster.start()
    send(cluster.lab[2], signal.SIGKILL, rank(cluster.lab[2]))
    assert cluster.end() == [137, 1, 137]
    assert cluster.failure(0) == "node 2 (10.77.0.12): its process ended with exit code 137"
    assert "[node 2] rank 2 runs" in cluster.outputs[0].splitlines()
    assert cluster.failure(1).endswith(f"stopped by the main node: {cluster.failure(0)}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=lambda number: number.name)
def test_a_killed_launcher(cluster: Cluster, number: signal.Signals) -> None:
    """A node whose launcher dies leaves no process behind and is named."""
    cluster.start()
    send(cluster.lab[2], number, launcher(cluster.lab[2]))
    assert cluster.end() == [1, 1, 128 + number]
    assert cluster.failure(0) == "node 2 (10.77.0.12): its connection was lost before it reported an end"
    assert cluster.failure(2) == f"this node's own process was ended by signal {number.value}"


def test_a_killed_guard(cluster: Cluster) -> None:
    """A node whose first process dies ends as by SIGTERM."""
    cluster.start()
    guard = cluster.lab[2].run("ps", "-o", "ppid=", "-p", launcher(cluster.lab[2])).stdout.strip()
    send(cluster.lab[2], signal.SIGKILL, guard)
    codes = cluster.end()
    assert codes[:2] == [143, 1]
    assert cluster.failure(0) == "node 2 (10.77.0.12): it was stopped (SIGTERM)"


def test_a_killed_main_launcher(cluster: Cluster) -> None:
    """Without the main node's launcher all nodes end, and AWS Batch sees a failure."""
    cluster.start()
    send(cluster.lab[0], signal.SIGKILL, launcher(cluster.lab[0]))
    assert cluster.end() == [137, 1, 1]
    for index in (1, 2):
        assert cluster.failure(index) == "node 0 (10.77.0.10): the connection to the main node was lost"


def test_power_off(cluster: Cluster) -> None:
    """A host that is gone without a word is named once its silence is too long."""
    cluster.start()
    cluster.lab[2].power_off()
    assert cluster.end()[:2] == [1, 1]
    assert cluster.failure(0) == f"node 2 (10.77.0.12): {LOST}"


def test_power_off_of_the_main_node(cluster: Cluster) -> None:
    """The others end by themselves when the main node's host is gone."""
    cluster.start()
    cluster.lab[0].power_off()
    assert cluster.end()[1:] == [1, 1]
    for index in (1, 2):
        assert cluster.failure(index) == f"node 0 (10.77.0.10): {LOST}"


def test_a_cut_cable(cluster: Cluster) -> None:
    """A node that is cut off ends like the others, each side naming the other."""
    cluster.start()
    cluster.lab[2].cut()
    assert cluster.end() == [1, 1, 1]
    assert cluster.failure(0) == f"node 2 (10.77.0.12): {LOST}"
    assert cluster.failure(2) == f"node 0 (10.77.0.10): {LOST}"


@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
def test_a_cable_that_carries_one_way(cluster: Cluster, direction: str) -> None:
    """It is enough that one direction is lost, and all nodes end."""
    cluster.start()
    host = cluster.lab[2]
    host.lose_outgoing() if direction == "outgoing" else host.lose_incoming()
    assert cluster.end() == [1, 1, 1]
    assert cluster.failure(0) in {
        f"node 2 (10.77.0.12): {LOST}",
        f"node 2 (10.77.0.12): it lost the main node: {LOST}",
    }


def test_a_frozen_rank_and_a_full_log_are_not_lost(cluster: Cluster) -> None:
    """A process that is stopped, or a log that takes no more, for longer than the bound: their nodes are alive."""
    flood = "print('runs', flush=True); print('x' * 10**7)"
    freeze = "import os, signal; print('runs', flush=True); os.kill(os.getpid(), signal.SIGSTOP)"
    wait = "import time; print('runs', flush=True); time.sleep(3); print('waited', flush=True)"
    cluster.start(wait, flood, freeze)
    cluster.wait_for("waited", [0])
    send(cluster.lab[2], signal.SIGCONT, rank(cluster.lab[2]))
    cluster.read_all(1)
    assert cluster.end() == [0, 0, 0]
    assert "x" * 10**7 in cluster.outputs[1]


def test_a_frozen_launcher_is_lost(cluster: Cluster) -> None:
    """A launcher that is stopped is named, the others end, and once it goes on it ends too."""
    cluster.start()
    frozen = launcher(cluster.lab[2])
    send(cluster.lab[2], signal.SIGSTOP, frozen)
    for index in (0, 1):
        cluster.read_all(index)
    send(cluster.lab[2], signal.SIGCONT, frozen)
    assert cluster.end() == [1, 1, 1]
    assert cluster.failure(0) == f"node 2 (10.77.0.12): {LOST}"


def test_sigterm_to_the_main_node(cluster: Cluster) -> None:
    """The job ends everywhere, also where SIGTERM is ignored, and a second one shortens nothing."""
    deaf = CHILD.replace("child runs", "runs")
    saves = """
import signal, time
def save(*_):
    print("saving", flush=True)
    time.sleep(0.5)
    print("saved", flush=True)
    exit(0)
signal.signal(signal.SIGTERM, save)
print("runs", flush=True)
signal.pause()
"""
    cluster.start(saves, saves, deaf)
    main = launcher(cluster.lab[0])
    send(cluster.lab[0], signal.SIGTERM, main)
    cluster.wait_for("saving", [0])
    send(cluster.lab[0], signal.SIGTERM, main)
    assert cluster.end() == [143, 1, 1]
    assert "saved" in cluster.outputs[0]
    assert "saved" in cluster.outputs[1]
    assert cluster.failure(0) == "the job was stopped (SIGTERM)"
    assert cluster.failure(2).endswith("stopped by the main node: node 0 (10.77.0.10): it was stopped (SIGTERM)")


def test_a_node_that_never_comes(cluster: Cluster) -> None:
    """The missing node is named by its index, on every node."""
    for host in (0, 1):
        cluster.add(host, FOR_EVER, "--rendezvous-timeout=2")
    assert cluster.end() == [1, 1]
    assert cluster.failure(0) == "node 2 of 3 did not come to the rendezvous within 2 s"
    assert cluster.failure(0) in cluster.failure(1)


def test_a_node_that_comes_twice(cluster: Cluster) -> None:
    """Two nodes of one index cannot form a cluster, and both addresses are named."""
    cluster.add(0, FOR_EVER)
    cluster.add(1, FOR_EVER)
    cluster.add(2, FOR_EVER, "--rendezvous-timeout=4", index=1)
    assert cluster.end() == [1, 1, 1]
    assert "two nodes say they are node 1: " in cluster.failure(0)
    assert "10.77.0.11" in cluster.failure(0)
    assert "10.77.0.12" in cluster.failure(0)


def test_a_node_with_another_key(cluster: Cluster) -> None:
    """A node with another secret does not get in, and both sides say why."""
    cluster.add(0, FOR_EVER, "--rendezvous-timeout=2")
    cluster.add(1, FOR_EVER, "--rendezvous-timeout=2")
    cluster.add(2, FOR_EVER, "--rendezvous-timeout=2", MNP_SECRET="wrong horse battery staple")  # noqa: S106 - not a real one
    assert cluster.end() == [1, 1, 1]
    assert cluster.failure(0).startswith("node 2 of 3 did not come to the rendezvous within 2 s")
    assert "MNP_SECRET, job or attempt differ" in cluster.failure(0)
    assert "MNP_SECRET, job or attempt differ" in cluster.failure(2)


def test_the_main_node_ends_first(cluster: Cluster) -> None:
    """The others are waited for, in whatever order they end."""
    later = "import time; print('runs', flush=True); time.sleep(1.5)"
    cluster.start("print('runs')", later, later)
    assert cluster.end() == [0, 0, 0]


def test_nodes_that_do_not_end_are_named(cluster: Cluster) -> None:
    """Once the main node's process has ended well, the others have a bounded time."""
    cluster.start("print('runs')", FOR_EVER, FOR_EVER, options=["--linger=0.5"])
    assert cluster.end() == [1, 1, 1]
    waited = "still running 0.5 s after the main node's process ended; so are nodes 2"
    assert cluster.failure(0) == f"node 1 (10.77.0.11): {waited}"


needs_tmp = pytest.mark.skipif(
    ROOT.is_relative_to(TEMPORARY), reason=f"a full {TEMPORARY} would hide this checkout, which stands in it"
)


@needs_tmp
def test_no_room_for_the_jobs_folder(cluster: Cluster) -> None:
    """A node whose disk is full says so, and the main node says which."""
    for folder in (TEMPORARY, "/var/tmp"):  # noqa: S108 - the host's own
        cluster.lab[2].run("mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "tmpfs", folder)
    for host in range(3):
        cluster.add(host, FOR_EVER, TMPDIR=TEMPORARY)
    assert cluster.end() == [1, 1, 1]
    cause = "node 2 (10.77.0.12): cannot make the job's folder: No usable temporary directory found in "
    assert cluster.failure(0).startswith(cause)


@needs_tmp
def test_a_program_that_fills_the_disk(cluster: Cluster) -> None:
    """The program's own words on the full disk are in the main node's log."""
    cluster.lab[2].run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", TEMPORARY)
    fill = "print('runs', flush=True); open('checkpoint', 'wb').write(bytes(10**6))"
    cluster.start(FOR_EVER, FOR_EVER, fill)
    assert cluster.end() == [1, 1, 1]
    assert cluster.failure(0) == "node 2 (10.77.0.12): its process ended with exit code 1"
    assert "[node 2] OSError: [Errno 28] No space left on device" in cluster.outputs[0]


def test_a_port_that_is_taken(cluster: Cluster) -> None:
    """The main node says which port is taken and what to do."""
    program = "import socket; s = socket.create_server(('10.77.0.10', 18520)); print('up', flush=True); s.accept()"
    with cluster.lab[0].popen(sys.executable, "-c", program, stdout=PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        main = cluster.add(0, FOR_EVER)
        cluster.outputs = [""]
        cluster.read_all(0)
        send(cluster.lab[0], signal.SIGKILL, cluster.lab[0].run("pgrep", "-f", "create_server").stdout.split()[0])
    assert main.returncode == 1
    advice = "set MNP_RENDEZVOUS_PORT to a free port, the same on all nodes"
    assert cluster.failure(0) == f"cannot listen on 10.77.0.10:18520: Address already in use; {advice}"


def test_clocks_that_differ(cluster: Cluster, tmp_path: Path) -> None:
    """A node whose clock is an hour ahead and jumps is a node like any other."""
    shim = (
        "import itertools, time\nreal, calls = time.time, itertools.count()\n"
        "time.time = lambda: real() + 3600 * next(calls)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(shim)
    wait = "import time; print('runs', flush=True); time.sleep(1.5)"
    for host in range(3):
        cluster.add(host, wait, PYTHONPATH=str(tmp_path) if host == 1 else "")
    assert cluster.end() == [0, 0, 0]
