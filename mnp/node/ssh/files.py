"""The text of every file that the job's SSH needs. No private key passes through here."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_PUBLIC_KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]+=*")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\$?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A session has its own of these, or its shell may not set them (bash ends a script that assigns to UID).
_OF_THE_SESSION = {"PWD", "OLDPWD", "SHLVL", "_", "SHELL", "UID", "EUID", "PPID", "SHELLOPTS", "BASHOPTS"}
_SSH_OPTIONS = "1246AaB:b:Cc:D:E:e:F:fGgI:i:J:Kkl:L:Mm:NnO:o:P:p:Q:qR:S:sTtVvW:w:XxYy"  # of OpenSSH's ssh


@dataclass(frozen=True)
class Peer:
    """What the other nodes need to know of a node's SSH; all of it is public."""

    address: str
    port: int
    user: str
    host_key: str
    user_key: str

    def as_document(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_document(document: dict[str, Any], address: str) -> Peer:
        """The peer at the roster's address. Raises ValueError for what must not get into a configuration file."""
        port, user = document.get("port"), str(document.get("user"))
        keys = [str(document.get(name)) for name in ("host_key", "user_key")]
        if not (isinstance(port, int) and 0 < port < 65536 and _USER.fullmatch(user)):  # noqa: PLR2004 - TCP's ports
            raise ValueError(f"port {port!r} or user {user!r} is not usable")
        if not all(_PUBLIC_KEY.fullmatch(key) for key in keys):
            raise ValueError("a key is not an Ed25519 public key")
        return Peer(address, port, user, *keys)


def sshd_config(folder: Path, address: str, port: int, user: str) -> str:
    """The daemon's: it knows the job's keys only, and runs commands only.

    StrictModes would refuse any folder below /tmp, which all may write to; the job's folder itself is its owner's.
    """
    return f"""\
ListenAddress {address}:{port}
HostKey "{folder}/host_key"
PidFile none
AllowUsers {user}
AuthenticationMethods publickey
AuthorizedKeysFile "{folder}/authorized_keys"
AuthorizedKeysCommand none
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
DisableForwarding yes
PermitTunnel no
PermitUserEnvironment no
PermitUserRC no
PrintMotd no
UseDNS no
MaxStartups 1024
LoginGraceTime 30
ClientAliveInterval 30
ClientAliveCountMax 4
ForceCommand exec {shlex.quote(f"{folder}/session")}
"""


def authorized_keys(peers: Iterable[Peer]) -> str:
    """Each node's key, good from that node's address only, and for commands only."""
    return "".join(f'restrict,from="{peer.address}" {peer.user_key}\n' for peer in peers)


def known_hosts(peers: Iterable[Peer]) -> str:
    return "".join(f"[{peer.address}]:{peer.port} {peer.host_key}\n" for peer in peers)


def ssh_config(folder: Path, peers: Iterable[Peer], own_address: str) -> str:
    """The client's. Hosts that are not of the job are not in it: they get the user's own ssh.

    A node with several interfaces sends from its roster address, the only one that the others accept.
    """
    nodes = "".join(f"Host {peer.address}\n  Port {peer.port}\n  User {peer.user}\n" for peer in peers)
    return f"""\
{nodes}Host *
  BindAddress {own_address}
  IdentityFile "{folder}/user_key"
  IdentitiesOnly yes
  IdentityAgent none
  GlobalKnownHostsFile /dev/null
  UpdateHostKeys no
  BatchMode yes
  LogLevel ERROR
  ConnectTimeout 20
  ServerAliveInterval 15
  ServerAliveCountMax 4
"""


def ssh_command(folder: Path, ssh: str, peers: Iterable[Peer]) -> str:
    """The `ssh` that frameworks find first: strict towards the job's nodes, whatever options they give it."""
    addresses = " ".join(peer.address for peer in peers)
    return f"""\
#!/bin/sh
target() {{
  while getopts :{_SSH_OPTIONS} option; do :; done
  shift $((OPTIND - 1))
  printf %s "${{1##*@}}"
}}
case " {addresses} " in
*" $(target "$@") "*)
  # Of several values ssh takes the first.
  exec {shlex.quote(ssh)} -F {shlex.quote(f"{folder}/ssh_config")} -o StrictHostKeyChecking=yes \\
    -o UserKnownHostsFile={shlex.quote(f"{folder}/known_hosts")} "$@"
  ;;
*) exec {shlex.quote(ssh)} "$@" ;;
esac
"""


def session(environ: Mapping[str, str], working_folder: str) -> str:
    """What the daemon runs for each command: the command, where and with what variables the node itself runs.

    Without SSH_CLIENT, or bash reads the user's ~/.bashrc once more, and that changes the variables again.
    """
    own = {
        name: value
        for name, value in environ.items()
        if _VARIABLE.fullmatch(name) and name not in _OF_THE_SESSION and not name.startswith(("SSH_", "BASH_"))
    }
    variables = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in own.items())
    return f"""\
#!/bin/sh
cd {shlex.quote(working_folder)}
{variables}unset SSH_CLIENT
exec "$SHELL" ${{SSH_ORIGINAL_COMMAND+-c "$SSH_ORIGINAL_COMMAND"}}
"""
