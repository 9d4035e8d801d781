"""Open MPI over the job's SSH: as any user, and when something is missing or dies.

That every rank takes part on so many hosts is a test of the launcher matrix.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.hosts.batch_job import batch_variables, run_job
from tests.hosts.lab import Host, Lab, why_not
from tests.hosts.signals import Signals

pytestmark = pytest.mark.end_to_end

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
SHOW = 'echo "rank $OMPI_COMM_WORLD_RANK of node $MNP_NODE_INDEX as $(id -un) in $(pwd)"'
# Each rank has a child in a session of its own, as frameworks' workers often are.
FOR_EVER = "setsid sleep 3600 & echo $OMPI_COMM_WORLD_RANK $$ >$SIGNALS; exec sleep 3600"
BOUNDS = ("--heartbeat-timeout=1", "--grace=1", "--rendezvous-timeout=20")
SECONDS = 60  # a job that takes longer has found a hang


def lacking(*tools: str) -> str | None:
    """Why these tests cannot run here, or None if they can."""
    needed = {"sshd": "openssh-server", "mpirun": "openmpi-bin", **dict.fromkeys(tools, "libopenmpi-dev")}
    for tool, package in needed.items():
        if not shutil.which(tool, path=f"/usr/sbin:{os.environ['PATH']}"):
            return f"{tool} is not installed (Debian: {package})"
    return why_not()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Three hosts with files of their own, but for tmp_path."""
    if reason := lacking():
        pytest.skip(reason)
    with Lab(3, own_root=True, shared=[tmp_path]) as found:
        yield found


def launch(*command: str) -> list[str]:
    return [sys.executable, "-m", "mnp.node", "launch", "--with=mpirun", *BOUNDS, "--", *command]


def variables(**more: str) -> dict[str, str]:
    return {"PYTHONPATH": str(Path.cwd()), **more}


def be_nobody(host: Host, shell: str) -> None:
    """Give user 65534 a shell and a folder, as an image with a user of its own does, and let it use this Python."""
    host.run("usermod", "--shell", shell, "--home", "/run/nobody", "nobody")
    host.run("install", "-d", "-o", "nobody", "/run/nobody")
    for path in {Path(sys.executable), Path(sys.executable).resolve(), Path.cwd()}:
        host.run("chmod", "o+x", *map(str, path.parents))


def test_it_runs_as_a_user_who_is_not_root(lab: Lab) -> None:
    """An image's own user needs no privilege for keys, daemon and ranks."""
    for host in lab.hosts:
        be_nobody(host, "/bin/sh")
    as_nobody = (*NOBODY, "env", "-C", "/run/nobody")
    ended = run_job(lab, [*as_nobody, *launch("sh", "-c", SHOW)], variables(HOME="/run/nobody"), SECONDS)
    assert [code for code, _ in ended] == [0, 0, 0], ended
    for index in range(3):
        assert f"rank {index} of node {index} as nobody in /run/nobody\n" in ended[0][1]


def test_dockers_bridge_is_left_alone(tmp_path: Path) -> None:
    """Ranks find each other though every host has a bridge at the same address, where Open MPI alone hangs."""
    if reason := lacking("mpicc"):
        pytest.skip(reason)
    program = tmp_path / "mpi_sum"
    subprocess.run(["mpicc", "-o", program, Path(__file__).parent / "programs" / "mpi_sum.c", "-lm"], check=True)
    with Lab(2, own_root=True, shared=[tmp_path]) as lab:
        for host in lab.hosts:
            bridge = ("link add docker0 type bridge", "address add 172.17.0.1/16 dev docker0", "link set docker0 up")
            host.configure("ip", *bridge)
        ended = run_job(lab, launch(str(program), str(tmp_path)), variables(), SECONDS)
    assert [code for code, _ in ended] == [0, 0], ended
    assert sorted(json.loads(file.read_text())["sum"] for file in tmp_path.glob("*.json")) == [3, 3]


def test_a_user_who_may_not_log_in_is_told_so(lab: Lab) -> None:
    """A user whose shell is nologin can run nothing over SSH; every node says on which node, and what it said."""
    for host in lab.hosts:
        be_nobody(host, "/bin/sh" if host.index else "/usr/sbin/nologin")
    ended = run_job(lab, [*NOBODY, *launch("true")], variables(HOME="/run/nobody"), SECONDS)
    assert [code for code, _ in ended] == [1, 1, 1]
    for _, output in ended:
        assert "[mnp] failed: node 0 (10.77.0.10): it cannot log in to itself: ssh ended with exit code 1:" in output
        assert "This account is currently not available" in output


def test_a_node_without_sshd_is_named_on_all(lab: Lab) -> None:
    """Every node says which node lacks what, and what to install; no command has run."""
    lab[1].run("rm", "/usr/sbin/sshd")
    ended = run_job(lab, launch("sh", "-c", SHOW), variables(), SECONDS)
    assert [code for code, _ in ended] == [1, 1, 1]
    for _, output in ended:
        assert "[mnp] failed: node 1 (10.77.0.11): the image lacks sshd," in output
        assert "openssh-server" in output
        assert "rank" not in output
    assert [host.processes() for host in lab.hosts] == [[], [], []]


def running(lab: Lab, folder: Path) -> tuple[Sequence[subprocess.Popen[str]], dict[str, str]]:
    """A job on all hosts whose ranks run for ever, once all of them run, and the process id of each rank."""
    signals = Signals(folder / "signals")
    nodes = [
        host.popen(
            *launch("sh", "-c", FOR_EVER),
            environ={**variables(SIGNALS=str(signals.path)), **batch_variables(lab, host.index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for host in lab.hosts
    ]
    try:
        return nodes, dict(line.split() for line in signals.wait(3))
    except TimeoutError as error:
        for node in nodes:
            node.kill()
        said = "\n".join(output for _, output in ends(nodes))
        raise AssertionError(f"{error}\n{said}") from None


def ends(nodes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    outputs = [node.communicate(timeout=SECONDS)[0] for node in nodes]
    return [(node.returncode, output) for node, output in zip(nodes, outputs, strict=True)]


def test_a_killed_rank_ends_the_job_everywhere(lab: Lab, tmp_path: Path) -> None:
    """Open MPI names the rank's node, and no rank is left on any host."""
    nodes, pids = running(lab, tmp_path)
    lab[2].run("kill", "-KILL", pids["2"])
    ended = ends(nodes)
    assert [host.processes() for host in lab.hosts] == [[], [], []]
    assert all(code for code, _ in ended)
    assert "on node 10.77.0.12 exited on signal 9" in " ".join(ended[0][1].split())


def test_a_host_without_power_is_named(lab: Lab, tmp_path: Path) -> None:
    """The main node names the lost host, and both others end with all that ran there."""
    nodes, _ = running(lab, tmp_path)
    lab[1].power_off()
    ended = ends(nodes)
    assert [lab[index].processes() for index in (0, 2)] == [[], []]
    assert all(code for code, _ in ended)
    assert "[mnp] failed: node 1 (10.77.0.11): it was not heard from for 1 s" in ended[0][1]


@pytest.mark.parametrize("target", [0, 1])
def test_sigterm_to_any_node_ends_all_ranks(lab: Lab, tmp_path: Path, target: int) -> None:
    """SIGTERM, as AWS Batch sends it, ends daemons and ranks on every host, and the main node names the node."""
    nodes, _ = running(lab, tmp_path)
    lab[target].run("pkill", "-TERM", "-o", "-f", "mnp.node launch")
    ended = ends(nodes)
    assert [host.processes() for host in lab.hosts] == [[], [], []]
    assert (ended[target][0], ended[0][0]) == (143, 143)
    assert f"node {target} (10.77.0.{target + 10}): it was stopped (SIGTERM)" in ended[2][1]
