"""One node's SSH: its own keys, its own daemon, and their end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from .. import network
from ..rendezvous.exchange import PreparationError
from ..rendezvous.wire import within
from ..supervision.process_group import ProcessGroup
from . import files
from .files import Peer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where sshd is, and a user's PATH often is not
_PRIVILEGE_SEPARATION = Path("/run/sshd")  # Debian's sshd demands it of root; a boot makes it, a container has none
_PORTS_TRIED = 5  # another process may take a free port before sshd does
_START_SECONDS, _START_PAUSE = 15.0, 0.02
_COMMAND_SECONDS = 30.0
_WORDS = 3  # lines of sshd's log in a message: the last ones only tell of the connection's end


class Daemon:
    """This node's keys and sshd. Everything of it is in `folder`, which nobody else can read."""

    def __init__(self, folder: Path, address: str, environ: Mapping[str, str]) -> None:
        self._folder, self._address = folder, address
        self._tools: dict[str, str] = {}
        self._group: ProcessGroup | None = None
        self.environ = {**environ, "PATH": f"{folder}/bin:{environ.get('PATH', os.defpath)}"}

    async def start(self) -> Peer:
        """Make the keys and start sshd, which lets nobody in yet. Raises PreparationError."""
        self._tools = _tools(self.environ)
        user = _user()
        self._make_folders()
        host_key, user_key = [await self._make_key(name) for name in ("host_key", "user_key")]
        port = await self._listen(user)
        return Peer(self._address, port, user, host_key, user_key)

    async def admit(self, peers: Iterable[Peer]) -> None:
        """Let the peers in, and this node's ssh out to them. Raises PreparationError if it does not reach itself."""
        peers = list(peers)
        self._write("known_hosts", files.known_hosts(peers))
        self._write("ssh_config", files.ssh_config(self._folder, peers, self._address))
        (self._folder / "bin").mkdir()
        self._write("bin/ssh", files.ssh_command(self._folder, self._tools["ssh"], peers), 0o700)
        self._write("authorized_keys", files.authorized_keys(peers))
        try:
            await _run((f"{self._folder}/bin/ssh", self._address, "true"), self.environ)
        except PreparationError as error:
            raise PreparationError(f"it cannot log in to itself: {error}; sshd says: {self._last_words()}") from None

    async def stop(self, grace: float) -> None:
        """End sshd and its sessions (SIGTERM, `grace` seconds, SIGKILL); delete the keys."""
        try:
            if self._group:
                await self._group.terminate(grace)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _make_folders(self) -> None:
        self._folder.mkdir(mode=0o700)
        self._write("session", files.session(self.environ, str(Path.cwd())), 0o700)
        if os.getuid() == 0:
            with contextlib.suppress(OSError):  # there already; or not to be made, and then sshd says what it lacks
                _PRIVILEGE_SEPARATION.mkdir(mode=0o755)

    async def _make_key(self, name: str) -> str:
        """Make a key pair; return the public key without a comment."""
        options = ("-q", "-t", "ed25519", "-N", "", "-C", "", "-f", f"{self._folder}/{name}")
        await _run((self._tools["ssh-keygen"], *options), self.environ)
        return self._read(f"{name}.pub").strip()

    async def _listen(self, user: str) -> int:
        for _ in range(_PORTS_TRIED):
            port = network.free_port()
            self._write("sshd_config", files.sshd_config(self._folder, self._address, port, user))
            options = ("-D", "-f", f"{self._folder}/sshd_config", "-E", f"{self._folder}/sshd.log")
            self._group = await ProcessGroup.start((self._tools["sshd"], *options), self.environ)
            if await self._answers(port, self._group):
                return port
            await self._group.terminate(0)
        raise PreparationError(f"sshd does not start: {self._last_words()}")

    async def _answers(self, port: int, group: ProcessGroup) -> bool:
        """Whether sshd listens; False if it has ended."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _START_SECONDS
        while not group.ended.done() and loop.time() < deadline:
            if await _connects(self._address, port):
                return not group.ended.done()
            await asyncio.sleep(_START_PAUSE)
        return False

    def _last_words(self) -> str:
        lines = self._read("sshd.log").splitlines()
        return "; ".join(line.strip() for line in lines[-_WORDS:]) or "nothing"

    def _read(self, name: str) -> str:
        """The file's text; "" if it is not there."""
        try:
            return (self._folder / name).read_text(errors="replace")
        except OSError:
            return ""

    def _write(self, name: str, text: str, mode: int = 0o600) -> None:
        path = self._folder / name
        path.touch(mode=mode)
        path.write_text(text)


def _tools(environ: Mapping[str, str]) -> dict[str, str]:
    """The paths of OpenSSH's programs. Raises PreparationError for those that the image lacks."""
    path = os.pathsep.join((environ.get("PATH", os.defpath), *_SYSTEM_FOLDERS))
    found = {name: shutil.which(name, path=path) for name in ("sshd", "ssh", "ssh-keygen")}
    missing = [name for name, where in found.items() if where is None]
    if missing:
        raise PreparationError(
            f"the image lacks {' and '.join(missing)}, and the launcher needs SSH between the nodes; install"
            " openssh-server and openssh-client (Debian, Ubuntu) or openssh-clients (Amazon Linux) in the image"
        )
    return {name: str(where) for name, where in found.items()}


def _user() -> str:
    """The name of the user this runs as, who is the one that logs in."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        raise PreparationError(
            f"ssh needs a name for user id {os.getuid()}: add it to the image's /etc/passwd"
        ) from None


async def _connects(address: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.close()
    return True


async def _run(argv: Sequence[str], environ: Mapping[str, str]) -> None:
    """Run a command to its end. Raises PreparationError with its last line unless it ends well."""
    process = await asyncio.create_subprocess_exec(
        *argv, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        output, _ = await within(_COMMAND_SECONDS, process.communicate())
    except TimeoutError:
        raise PreparationError(f"{Path(argv[0]).name} did not end within {_COMMAND_SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        words = output.decode(errors="replace").strip().split("\n")[-1]
        raise PreparationError(f"{Path(argv[0]).name} ended with exit code {process.returncode}: {words}")
