"""A command in its own process group, ended as a whole."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping, Sequence

SIGNAL_EXIT = 128  # a shell's exit code for a process that a signal ended is 128 + the signal


class ProcessGroup:
    """A running command and all it started."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.ended = asyncio.ensure_future(self._wait())

    @staticmethod
    async def start(argv: Sequence[str], environ: Mapping[str, str]) -> ProcessGroup:
        """Start the command. Raises OSError if it cannot be started."""
        return ProcessGroup(await asyncio.create_subprocess_exec(*argv, env=environ, start_new_session=True))

    async def _wait(self) -> int:
        code = await self._process.wait()
        return SIGNAL_EXIT - code if code < 0 else code

    async def terminate(self, grace: float) -> int:
        """End it: SIGTERM, `grace` seconds, SIGKILL. Returns the exit code, 128 + n for signal n."""
        if self.ended.done():
            return self.ended.result()
        group = self._process.pid
        strays = descendants(group)
        _signal_group(group, signal.SIGTERM)
        await asyncio.wait({self.ended}, timeout=grace)
        strays |= descendants(group)
        _signal_group(group, signal.SIGKILL)
        # torchrun starts each worker in a session of its own, where a signal to the group does not reach it.
        for pid, started in strays:
            if _start_time(pid) == started:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        return await self.ended


def descendants(pid: int) -> set[tuple[int, str]]:
    """Process id and start time of all processes below pid; empty on a system without /proc."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(folder.name))
        if fields:
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found: set[int] = set()
    queue = [pid]
    while queue:
        new = children.get(queue.pop(), [])
        found.update(new)
        queue.extend(new)
    return {(child, _start_time(child)) for child in found}


def _start_time(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if fields else "ended"


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command name, which may itself hold spaces and parentheses."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
