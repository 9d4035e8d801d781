"""SSH between the hosts of a job, with the real OpenSSH: who gets in, what a session sees, and that nothing stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.batch_job import SECRET, batch_variables
from tests.hosts.lab import Host, Lab, why_not
from tests.hosts.signals import Signals

pytestmark = pytest.mark.end_to_end

# In place of Open MPI's: it says where the job's SSH is, and ends when it is told to.
MPIRUN = """\
#!/bin/sh
ssh=$(command -v ssh)
echo "${ssh%/bin/ssh}" >"$SIGNALS"
read word <"$GO_ON"
"""


@dataclass
class RunningJob:
    """A job on all hosts whose SSH is up. `folder` is that of the main node's SSH."""

    nodes: list[subprocess.Popen[str]]
    folder: str
    go_on: Path

    def end(self) -> list[int]:
        self.go_on.write_text("end\n")
        for node in self.nodes:
            node.communicate()
        return [node.returncode for node in self.nodes]


def start(lab: Lab, shared: Path, name: str, port: int) -> RunningJob:
    """Start a job of that name on all hosts, and wait until its SSH is up."""
    signals, go_on = Signals(shared / f"{name}-signals"), shared / f"{name}-go-on"
    os.mkfifo(go_on)
    environ = {
        "PATH": f"{shared}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path.cwd()),
        "SIGNALS": str(signals.path),
        "GO_ON": str(go_on),
        "MNP_RENDEZVOUS_PORT": str(port),
        "FI_PROVIDER": "efa",
        "TMPDIR": "/run",  # empty on each host
    }
    argv = (sys.executable, "-m", "mnp.node", "launch", "--with", "mpirun", "--", "anything")
    nodes = [
        host.popen(
            *("env", "-C", "/usr", *argv),
            environ={**environ, **batch_variables(lab, host.index), "AWS_BATCH_JOB_ID": f"{name}#{host.index}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for host in lab.hosts
    ]
    return RunningJob(nodes, signals.wait(1)[0], go_on)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, RunningJob, RunningJob]]:
    """Two hosts, and two jobs that run on both at the same time."""
    reason = why_not() or (None if shutil.which("sshd", path="/usr/sbin:/usr/local/sbin") else "sshd is not installed")
    if reason:
        pytest.skip(reason)
    shared = tmp_path_factory.mktemp("shared")
    (shared / "mpirun").write_text(MPIRUN)
    (shared / "mpirun").chmod(0o755)
    with Lab(2, own_root=True, shared=[shared]) as lab:
        for host in lab.hosts:
            host.run("rmdir", "/run/sshd")  # which a boot makes, and a container has not
        yield lab, start(lab, shared, "one", 18521), start(lab, shared, "two", 18522)


Jobs = tuple[Lab, RunningJob, RunningJob]


def ssh(host: Host, folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a framework does: plain `ssh`, found in the job's folder."""
    return host.run(f"{folder}/bin/ssh", *arguments)


def port_of(host: Host, folder: str, address: str) -> str:
    lines = host.run("cat", f"{folder}/ssh_config").stdout.splitlines()
    return lines[lines.index(f"Host {address}") + 1].split()[1]


def test_a_session_sees_what_its_node_sees(jobs: Jobs) -> None:
    """A command on another host has that node's variables, folder and `ssh`, and not the cluster's secret."""
    lab, job, _ = jobs
    ask = "pwd; echo $MNP_NODE_INDEX $FI_PROVIDER; hostname; command -v ssh; env"
    done = ssh(lab[0], job.folder, lab[1].address, ask)
    where, variables, name, command, *environ = done.stdout.splitlines()
    assert (where, variables, name) == ("/usr", "1 efa", lab[1].name)
    assert command.endswith("/ssh/bin/ssh")
    assert command != f"{job.folder}/bin/ssh"
    assert SECRET not in "\n".join(environ)


def test_every_host_reaches_every_host(jobs: Jobs) -> None:
    """Open MPI's daemons start further ones, so a node that is not the main one reaches the main one too."""
    lab, job, _ = jobs
    done = ssh(lab[0], job.folder, lab[1].address, f"ssh {lab[0].address} hostname; ssh {lab[1].address} hostname")
    assert done.stdout.split() == [lab[0].name, lab[1].name]


@pytest.mark.parametrize("option", ["LogLevel=ERROR", "StrictHostKeyChecking=no"])
def test_another_jobs_daemon_is_not_talked_to(jobs: Jobs, option: str) -> None:
    """A daemon with another host key gets no command, even if it answers at the node's address and port."""
    lab, job, other = jobs
    address = lab[1].address
    own, foreign = port_of(lab[0], job.folder, address), port_of(lab[0], other.folder, address)
    alias = ("-o", f"HostKeyAlias=[{address}]:{own}")
    assert ssh(lab[0], job.folder, *alias, address, "true").returncode == 0
    refused = ssh(lab[0], job.folder, "-o", option, *alias, "-p", foreign, address, "true")
    assert refused.returncode == 255
    assert "Host key verification failed" in refused.stderr


def test_another_jobs_key_is_not_let_in(jobs: Jobs) -> None:
    """A client with another job's key, though it comes from a node's address, gets no session."""
    lab, job, other = jobs
    config = lab[0].run("cat", f"{job.folder}/ssh_config").stdout.replace(job.folder, other.folder)
    lab[0].run("sh", "-c", f"cat >/run/config <<'END'\n{config}\nEND")
    known = f"UserKnownHostsFile={job.folder}/known_hosts"
    refused = lab[0].run("ssh", "-F", "/run/config", "-o", known, lab[1].address, "true")
    assert refused.returncode == 255
    assert "Permission denied (publickey)" in refused.stderr


def test_a_key_from_another_address_is_not_let_in(jobs: Jobs) -> None:
    """A node's key opens nothing from elsewhere, here from the host's own second address."""
    lab, job, _ = jobs
    lab[0].configure("ip", f"address add {lab.network}.99/24 dev {lab[0].interface}")
    elsewhere = ssh(lab[0], job.folder, "-o", f"BindAddress={lab.network}.99", lab[1].address, "true")
    assert elsewhere.returncode == 255
    assert "Permission denied (publickey)" in elsewhere.stderr


def test_a_session_forwards_nothing(jobs: Jobs) -> None:
    """No port of a node opens by way of SSH."""
    lab, job, _ = jobs
    for forward in (("-R", "0:localhost:1"), ("-W", "localhost:22")):
        refused = ssh(lab[0], job.folder, "-o", "ExitOnForwardFailure=yes", *forward, lab[1].address)
        assert refused.returncode == 255, forward


def test_nobody_else_reads_the_jobs_files_and_none_are_at_home(jobs: Jobs) -> None:
    """Only their owner enters the folder of the keys, and neither ~/.ssh nor /etc/ssh has changed."""
    lab, _, _ = jobs
    for host in lab.hosts:
        folders = host.run("sh", "-c", "ls -d /run/mnp-job-*/ssh").stdout.split()
        assert len(folders) == 2
        keys = [f"{folder}/{name}" for folder in folders for name in ("host_key", "user_key")]
        modes = host.run("stat", "--format=%a", *folders, *keys).stdout.split()
        assert modes == ["700"] * len(folders) + ["600"] * len(keys)
        for unchanged in (".ssh", "/etc/ssh"):
            path = Path.home() / unchanged
            listed = host.run("sh", "-c", f"ls -Al --time-style=full-iso {path}").stdout
            here = subprocess.run(
                ["ls", "-Al", "--time-style=full-iso", path], capture_output=True, text=True, check=False
            )
            assert listed == here.stdout


def test_nothing_stays_after_the_job(jobs: Jobs) -> None:
    """Once the main node's command has ended, daemons, sessions, keys and folders are gone from every host."""
    lab, job, other = jobs
    left = ssh(lab[0], job.folder, lab[1].address, "sleep 3600 >/dev/null 2>&1 </dev/null & echo started")
    assert left.stdout == "started\n"
    assert other.end() == [0, 0]
    assert job.end() == [0, 0]
    for host in lab.hosts:
        assert host.processes() == []
        assert "mnp-job" not in host.run("ls", "/run").stdout
