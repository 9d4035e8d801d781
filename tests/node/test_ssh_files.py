"""The files of the job's SSH, read by the programs that they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mnp.node.ssh import files
from mnp.node.ssh.files import Peer

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"
PEERS = [
    Peer(f"10.0.0.{index}", 40000 + index, "trainer", f"{KEY}HOST{index}", f"{KEY}USER{index}") for index in (1, 2)
]


def _program(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o700)
    return str(path)


def test_a_key_is_good_from_its_own_node_only() -> None:
    """A node's key lets in that node's address, for commands and nothing else."""
    assert files.authorized_keys(PEERS) == (
        f'restrict,from="10.0.0.1" {KEY}USER1\nrestrict,from="10.0.0.2" {KEY}USER2\n'
    )


def test_a_host_is_known_by_its_own_key_at_its_own_port() -> None:
    """Each node's daemon must show that node's key."""
    assert files.known_hosts(PEERS) == f"[10.0.0.1]:40001 {KEY}HOST1\n[10.0.0.2]:40002 {KEY}HOST2\n"


def test_the_client_knows_port_user_and_key_of_every_node(tmp_path: Path) -> None:
    """What OpenSSH itself reads from the configuration is what the node needs, with no password and no agent."""
    if not shutil.which("ssh"):
        pytest.skip("ssh is not installed (Debian: openssh-client)")
    (tmp_path / "ssh_config").write_text(files.ssh_config(tmp_path, PEERS, "10.0.0.1"))
    command = ["ssh", "-G", "-F", str(tmp_path / "ssh_config"), "10.0.0.2"]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {
        "port 40002",
        "user trainer",
        "bindaddress 10.0.0.1",
        f"identityfile {tmp_path}/user_key",
        "identitiesonly yes",
        "identityagent none",
        "batchmode yes",
        "globalknownhostsfile /dev/null",
    } <= set(read)


@pytest.mark.parametrize(
    ("arguments", "strict"),
    [
        (["10.0.0.2", "hostname", "-I"], True),
        (["-x", "10.0.0.2", "orted"], True),
        (["-o", "StrictHostKeyChecking=no", "-tt", "-p22", "trainer@10.0.0.1", "true"], True),
        (["-l", "10.0.0.2", "elsewhere"], False),
        (["git@example.com", "git-upload-pack '10.0.0.2'"], False),
        (["10.0.0.20", "true"], False),
        (["-V"], False),
    ],
)
def test_strict_towards_the_jobs_nodes_and_plain_ssh_elsewhere(
    tmp_path: Path, *, arguments: list[str], strict: bool
) -> None:
    """A framework's own options come after ours, and what is not of the job is the user's own business."""
    real = _program(tmp_path / "ssh", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command = _program(tmp_path / "command", files.ssh_command(tmp_path, real, PEERS))
    got = subprocess.run([command, *arguments], capture_output=True, text=True, check=True).stdout.splitlines()
    ours = ["-F", f"{tmp_path}/ssh_config", "-o", "StrictHostKeyChecking=yes"]
    ours += ["-o", f"UserKnownHostsFile={tmp_path}/known_hosts"]
    assert got == (ours if strict else []) + arguments


def test_a_session_has_the_nodes_variables_and_folder(tmp_path: Path) -> None:
    """A command of a session sees what the node sees, whatever the values are; its shell keeps its own variables."""
    environ = {
        "LD_LIBRARY_PATH": "/opt/amazon/efa/lib",
        "ODD": "it's $HOME\nand `more`",
        "UID": "7",
        "SHELL": "/bin/false",
        "SSH_CLIENT": "x",
        "not-a-name": "x",
    }
    script = _program(tmp_path / "session", files.session(environ, str(tmp_path)))
    given = {"SHELL": "/bin/sh", "SSH_CLIENT": "10.0.0.1 1 2", "PATH": os.environ["PATH"]}
    ask = 'pwd; printf "%s|" "$LD_LIBRARY_PATH" "$ODD" "$SHELL" "$SSH_CLIENT"'
    done = subprocess.run(
        [script], env={**given, "SSH_ORIGINAL_COMMAND": ask}, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{tmp_path}\n/opt/amazon/efa/lib|it's $HOME\nand `more`|/bin/sh||"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": 0},
        {"port": "22"},
        {"user": "root\nPermitRootLogin yes"},
        {"user": ""},
        {"user_key": f"{KEY}\nssh-ed25519 AAAA"},
        {"host_key": "ssh-rsa AAAA"},
    ],
)
def test_what_is_no_key_user_or_port_gets_into_no_file(wrong: dict[str, object]) -> None:
    """A node's word is checked before it is written into a configuration."""
    good = PEERS[0].as_document()
    assert Peer.from_document(good, "10.0.0.1") == PEERS[0]
    with pytest.raises(ValueError, match="is not"):
        Peer.from_document({**good, **wrong}, "10.0.0.1")
