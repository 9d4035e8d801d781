"""A command in its own process group, ended as a whole."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

from .processes import Found, descendants, kill, living, members

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping, Sequence

SIGNAL_EXIT = 128  # a shell's exit code for a process that a signal ended is 128 + the signal
_LOOK_SECONDS = 0.02  # between two looks at processes that are not our children


class ProcessGroup:
    """A running command and all it started."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._left: set[Found] = set()
        self.ended = asyncio.ensure_future(self._wait())

    @staticmethod
    async def start(
        argv: Sequence[str], environ: Mapping[str, str], files: tuple[int, int] | None = None
    ) -> ProcessGroup:
        """Start the command, with the files as its stdout and stderr. Raises OSError if it cannot be started."""
        stdout, stderr = files or (None, None)
        process = await asyncio.create_subprocess_exec(
            *argv, env=environ, stdout=stdout, stderr=stderr, start_new_session=True
        )
        return ProcessGroup(process)

    async def _wait(self) -> int:
        code = await self._process.wait()
        self._left = members(self._process.pid)
        return SIGNAL_EXIT - code if code < 0 else code

    async def terminate(self, grace: float) -> int:
        """End it: SIGTERM, `grace` seconds, SIGKILL. Returns the exit code, 128 + n for signal n.

        SIGTERM goes to the group; to what has left it (torchrun starts each worker in a session of its own) only if
        the command ends before it, since otherwise it is the command's to end these.
        """
        deadline = asyncio.get_running_loop().time() + grace
        known = self._known()
        if not self.ended.done():
            self._signal_group(signal.SIGTERM)
            await asyncio.wait({self.ended}, timeout=grace)
        known |= self._known()
        if self.ended.done() and known:
            kill(known, signal.SIGTERM)
            await _until_ended(known, deadline)
            known |= self._known()
        if not self.ended.done():
            self._signal_group(signal.SIGKILL)
        kill(known, signal.SIGKILL)
        return await self.ended

    def _known(self) -> set[Found]:
        """What the command started, as far as it can be seen."""
        if not self.ended.done():
            return descendants(self._process.pid) | members(self._process.pid)
        return self._left.union(*(descendants(pid) for pid, _ in living(self._left)))

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def _until_ended(known: set[Found], deadline: float) -> None:
    loop = asyncio.get_running_loop()
    while living(known) and loop.time() < deadline:  # noqa: ASYNC110 - other processes' ends are no events here
        await asyncio.sleep(_LOOK_SECONDS)
