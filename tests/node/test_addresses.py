"""Which of its addresses and interfaces a node uses, on hosts that have several, or odd names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from mnp.node.identity import DEFAULT_PORT
from tests.hosts.lab import Host, Lab

pytestmark = pytest.mark.end_to_end

OTHER_NETWORK = "10.88.0"
SHOW = "import os; print('uses', *(os.environ[n] for n in ('MASTER_ADDR', 'GLOO_SOCKET_IFNAME', 'NCCL_SOCKET_IFNAME')))"
TRY = """
import socket, sys
for host in sys.argv[2:]:
    with socket.socket() as probe:
        probe.settimeout(5)
        print(probe.connect_ex((host, int(sys.argv[1]))) == 0)
"""


def slurm(lab: Lab, index: int) -> dict[str, str]:
    """The main node is known by its name, and so is the other one."""
    first, last = (host.address.rpartition(".")[2] for host in lab.hosts)
    prefix = lab[0].name.rpartition("-")[0]
    return {
        "SLURM_JOB_ID": "7",
        "SLURM_NODEID": str(index),
        "SLURM_NNODES": "2",
        "SLURM_STEP_NODELIST": f"{prefix}-[{first}-{last}]",
    }


def plain(lab: Lab, index: int) -> dict[str, str]:
    """The main node is known by its address."""
    return {
        "MNP_JOB_ID": "7",
        "MNP_NODE_INDEX": str(index),
        "MNP_NODE_COUNT": "2",
        "MNP_MAIN_ADDRESS": lab[0].address,
    }


def as_found(host: Host) -> None:
    """Nothing odd."""


def renamed_interface(host: Host) -> None:
    """The interface has another name than most."""
    host.rename("ens5")


def second_interface(host: Host) -> None:
    """Another network leads everywhere else, as a management network does."""
    host.attach("aaa0", OTHER_NETWORK)


def own_name_is_loopback(host: Host) -> None:
    """Its own name leads a host to itself, as Debian's /etc/hosts has it."""
    script = f"grep -v {host.name} /etc/hosts >/run/found; echo 127.0.0.1 {host.name} | cat - /run/found >/etc/hosts"
    assert host.run("sh", "-c", script).returncode == 0
    assert host.run("getent", "hosts", host.name).stdout.split()[0] == "127.0.0.1"


def own_name_is_unknown(host: Host) -> None:
    """Nobody knows the host's name, itself included."""
    host.run("hostname", "nowhere")
    assert host.run("getent", "hosts", "nowhere").returncode != 0


def start(lab: Lab, index: int, identity: dict[str, str], *command: str) -> subprocess.Popen[str]:
    argv = (sys.executable, "-m", "mnp.node", "launch", "--with", "env", "--", *command)
    environ = {**identity, "MNP_SECRET": "correct horse battery staple"}
    return lab[index].popen(*argv, environ=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("identity", [slurm, plain])
@pytest.mark.parametrize(
    "prepare", [as_found, renamed_interface, second_interface, own_name_is_loopback, own_name_is_unknown]
)
def test_nodes_use_the_interface_that_joins_them(
    lab: Lab, prepare: Callable[[Host], None], identity: Callable[[Lab, int], dict[str, str]]
) -> None:
    """Frameworks get the main node's address in the job's network, and the interface that leads there."""
    for host in lab.hosts:
        prepare(host)
    nodes = [start(lab, index, identity(lab, index), sys.executable, "-c", SHOW) for index in (0, 1)]
    for node, host in zip(nodes, lab.hosts, strict=True):
        output = node.communicate(timeout=60)[0]
        assert node.returncode == 0, output
        assert f"uses {lab[0].address} {host.interface} {host.interface}\n" in output


def test_the_rendezvous_is_open_to_the_jobs_network_only(lab: Lab) -> None:
    """From another network that the main node stands in as well, its port is closed."""
    elsewhere = [host.attach("aaa0", OTHER_NETWORK) for host in lab.hosts]
    main = start(lab, 0, slurm(lab, 0), "true")
    assert main.stdout is not None
    assert "rendezvous 1/2: node 0 (10.77.0.10) is here" in main.stdout.readline()
    probe = lab[1].run("python3", "-c", TRY, str(DEFAULT_PORT), lab[0].address, elsewhere[0])
    assert probe.stdout.split() == ["True", "False"]
    lab[0].power_off()
    main.communicate(timeout=60)
