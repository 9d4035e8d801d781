"""The hosts that other tests rely on are what they say."""

from __future__ import annotations

import pytest

from tests.hosts.lab import Lab, why_not

pytestmark = pytest.mark.end_to_end


def reaches(lab: Lab, source: int, target: int) -> bool:
    """Whether a datagram from one host arrives at the other."""
    listen = f"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('{lab[target].address}', 9999))"
    listen += "; s.settimeout(1); print('up', flush=True); s.recv(9)"
    send = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'hello', ('{lab[target].address}', 9999))"
    with lab[target].popen("python3", "-c", listen, stdout=-1, stderr=-1) as listener:
        assert listener.stdout is not None
        listener.stdout.readline()
        lab[source].run("python3", "-c", send)
        listener.communicate()
        return listener.returncode == 0


def test_hosts_have_names_addresses_and_processes_of_their_own(lab: Lab) -> None:
    """A host answers under its own name and address, and sees no process but its own."""
    for host in lab.hosts:
        assert host.run("hostname").stdout.strip() == host.name
        assert f"inet {host.address}/24" in host.run("ip", "-4", "address", "show", "eth0").stdout
        assert host.processes() == []
    assert lab[0].run("getent", "hosts", lab[1].name).stdout.split()[0] == lab[1].address


def test_a_cable_is_cut_in_both_directions_or_in_one_and_heals(lab: Lab) -> None:
    """What is cut arrives nowhere, what is cut one way arrives the other way, and healing mends all of it."""

    def directions() -> tuple[bool, bool]:
        return reaches(lab, 0, 1), reaches(lab, 1, 0)

    assert directions() == (True, True)
    lab[1].cut()
    assert directions() == (False, False)
    lab[1].heal()
    assert directions() == (True, True)
    lab[1].lose_outgoing()
    assert directions() == (True, False)
    lab[1].heal()
    lab[1].lose_incoming()
    assert directions() == (False, True)


def test_power_off_ends_every_process_of_a_host(lab: Lab) -> None:
    """Nothing of the host is left, and the others go on."""
    running = lab[1].popen("sleep", "infinity")
    lab[1].power_off()
    assert running.wait() != 0
    assert lab[0].run("true").returncode == 0


def test_what_a_host_with_its_own_root_writes_stays_with_it() -> None:
    """Files of one host are seen neither by another nor by this machine, but for the folders that all share."""
    if reason := why_not():
        pytest.skip(reason)
    with Lab(2, own_root=True) as lab:
        assert lab[0].run("touch", "/etc/of-host-0").returncode == 0
        assert lab[0].run("test", "-e", "/etc/of-host-0").returncode == 0
        assert lab[1].run("test", "-e", "/etc/of-host-0").returncode == 1
