"""Hosts on this machine: each has its own address, host name, processes and /dev/shm, joined by a switch.

A host is a process with id 1 in namespaces of its own. Nothing of it is in the machine's own network, and all of it
is gone when that process ends, also if the test runner is killed. Needs root and the tools of util-linux and iproute2.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

TOOLS = ("unshare", "nsenter", "setpriv", "ip", "tc")
BOOT_SECONDS = 20
# Every name is known from a file: a name server that nobody answers costs frameworks ten seconds a look-up.
_OWN_FILES = """
hostname {name}
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir /run/sshd
cp {folder}/hosts /run/hosts
mount -t tmpfs tmpfs /dev/shm
echo 'hosts: files' >/run/nsswitch.conf
mount --bind /run/hosts /etc/hosts
mount --bind /run/nsswitch.conf /etc/nsswitch.conf
"""
# The same on a copy-on-write view of this machine's root file system, so that what a host writes stays with it.
_OWN_ROOT = """
cd {folder}
mkdir {index}
cd {index}
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
cd root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs tmpfs run
mkdir run/sshd
{binds}
cp {folder}/hosts etc/hosts
echo 'hosts: files' >etc/nsswitch.conf
echo {name} >etc/hostname
hostname {name}
pivot_root . mnt
umount -l /mnt
cd /
"""


def why_not() -> str | None:
    """Why this machine can have no hosts, or None if it can."""
    if os.geteuid() != 0:
        return "hosts in network namespaces need root"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"hosts in network namespaces need {', '.join(missing)} (Debian: util-linux, iproute2)"
    probe = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "true"]
    result = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"this machine allows no namespaces: {result.stderr.strip()}" if result.returncode else None


class _Namespaces:
    """One set of namespaces, held by a process with id 1 in them."""

    def __init__(self) -> None:
        self._holder: subprocess.Popen[bytes] | None = None
        self.pid = 0

    def boot(self, script: str) -> None:
        """Run the script in new namespaces, and keep them."""
        read, write = os.pipe()
        flags = ("--net", "--uts", "--ipc", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child")
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *flags, "bash", "-euc"]
        program = f"{script}\necho ok >&{write}\nexec {write}>&-\nexec sleep infinity"
        with tempfile.TemporaryFile() as errors:
            self._holder = subprocess.Popen(
                [*command, program],
                pass_fds=[write],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            os.close(write)
            ready, _, _ = select.select([read], [], [], BOOT_SECONDS)
            told = os.read(read, 3) if ready else b""
            os.close(read)
            if told != b"ok\n":
                errors.seek(0)
                raise RuntimeError(f"a host did not boot: {errors.read().decode()}")
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text()
        self.pid = int(children.split()[0])

    def end(self) -> None:
        """End every process in them at once; the namespaces go with the last."""
        if self._holder is None:
            return
        if self._holder.poll() is None:
            os.kill(self.pid or self._holder.pid, signal.SIGKILL)
        self._holder.wait()

    def configure(self, tool: str, *lines: str) -> None:
        """Run `ip` or `tc` in the network namespace, a command a line."""
        command = ["nsenter", "-t", str(self.pid), "-n", tool, "-batch", "-"]
        subprocess.run(command, input="\n".join(lines) + "\n", text=True, check=True, capture_output=True)


class Host(_Namespaces):
    """One host; `index` counts from 0, `interface` is the one that leads to the others."""

    def __init__(self, lab: Lab, index: int) -> None:
        super().__init__()
        self._lab = lab
        self.index = index
        self.address = f"{lab.network}.{index + 10}"
        self.name = f"ip-{self.address.replace('.', '-')}"
        self.interface = "eth0"

    def start(self) -> None:
        binds = "\n".join(f"mkdir -p .{path}\nmount --bind {path} .{path}" for path in self._lab.shared)
        script = _OWN_ROOT if self._lab.own_root else _OWN_FILES
        self.boot(script.format(name=self.name, folder=self._lab.folder, index=self.index, binds=binds))
        port, switch = self._port, self._lab.switch
        switch.configure(
            "ip",
            f"link add {port} type veth peer name {self.interface} netns {self.pid}",
            f"link set {port} master br0",
            f"link set {port} up",
        )
        self.configure(
            "ip",
            "link set lo up",
            f"address add {self.address}/24 dev {self.interface}",
            f"link set {self.interface} up",
        )

    @property
    def _port(self) -> str:
        return f"port{self.index}"

    def command(self, *argv: str) -> list[str]:
        """The command line that runs argv on this host."""
        root = ["-r", "-w"] if self._lab.own_root else []
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "-p", *root, "--", *argv]

    def popen(self, *argv: str, environ: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command(*argv), env={**os.environ, **(environ or {})}, text=True, **options)

    def run(self, *argv: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, **(environ or {})}
        return subprocess.run(self.command(*argv), env=variables, text=True, capture_output=True, check=False)

    def processes(self) -> list[str]:
        """Command lines of what runs on this host, but for the process that is the host."""
        lines = self.run("ps", "-eo", "pid=,args=").stdout.splitlines()
        found = (line.split(None, 1) for line in lines)
        return [line for pid, line in found if pid != "1" and not line.startswith("ps -eo") and "<defunct>" not in line]

    def rename(self, interface: str) -> None:
        """Give the interface another name, as udev does."""
        self.configure("ip", f"link set {self.interface} down", f"link set {self.interface} name {interface} up")
        self.interface = interface

    def attach(self, interface: str, network: str) -> str:
        """Join the host to another network, which becomes its way to everywhere else; returns its address there."""
        port, address, switch = f"{interface}-{self.index}", f"{network}.{self.index + 10}", self._lab.switch
        switch.configure(
            "ip",
            f"link add {port} type veth peer name {interface} netns {self.pid}",
            f"link set {port} master br1",
            f"link set {port} up",
        )
        self.configure(
            "ip",
            f"address add {address}/24 dev {interface}",
            f"link set {interface} up",
            f"route add default dev {interface}",
        )
        return address

    def power_off(self) -> None:
        """End the host as a power cut does: no process says goodbye, and no packet."""
        self.cut()
        self.end()

    def cut(self) -> None:
        """Pull the cable: nothing comes or goes, and nobody is told."""
        self._lab.switch.configure("ip", f"link set {self._port} down")

    def heal(self) -> None:
        """Plug the cable in again, and let everything pass."""
        self._lab.switch.configure("ip", f"link set {self._port} up")
        for where, interface in ((self, self.interface), (self._lab.switch, self._port)):
            where.configure("tc", f"qdisc replace dev {interface} root pfifo limit 1000")

    def lose_outgoing(self) -> None:
        """Lose what this host sends; what is sent to it arrives."""
        self.configure("tc", f"qdisc replace dev {self.interface} root pfifo limit 0")

    def lose_incoming(self) -> None:
        """Lose what is sent to this host; what it sends arrives."""
        self._lab.switch.configure("tc", f"qdisc replace dev {self._port} root pfifo limit 0")

    def shape(self, megabits_per_second: int) -> None:
        """Bound what this host sends."""
        rate = f"rate {megabits_per_second}mbit burst 256k latency 30ms"
        self.configure("tc", f"qdisc replace dev {self.interface} root tbf {rate}")


class Lab:
    """So many hosts on one switch, while the `with` block lasts.

    With `own_root` each host has a copy-on-write view of this machine's files; the folders in `shared` are the same
    for all.
    """

    def __init__(
        self, count: int, *, own_root: bool = False, shared: Sequence[Path] = (), network: str = "10.77.0"
    ) -> None:
        self.network, self.own_root, self.shared = network, own_root, tuple(shared)
        self.hosts = [Host(self, index) for index in range(count)]
        self.switch = _Namespaces()

    def __getitem__(self, index: int) -> Host:
        return self.hosts[index]

    def __enter__(self) -> Self:
        # On a tmpfs: an overlay's upper layer may not itself be on one.
        self._temporary = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="lab-")
        self.folder = Path(self._temporary.name)
        names = "".join(f"{host.address} {host.name}\n" for host in self.hosts)
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + names)
        try:
            self.switch.boot("true")
            # A fixed address, or the switch takes another one when a host leaves, and the others wait for it.
            self.switch.configure(
                "ip",
                "link set lo up",
                "link add br0 address 02:00:00:00:00:01 type bridge",
                f"address add {self.network}.254/24 dev br0",
                "link set br0 up",
                "link add br1 address 02:00:00:00:00:02 type bridge",
                "link set br1 up",
            )
            for host in self.hosts:
                host.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (*self.hosts, self.switch):
            each.end()
        self._temporary.cleanup()
