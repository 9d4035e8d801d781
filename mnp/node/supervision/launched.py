"""A launch under way on this node: what comes before its command, the command, and what comes after."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..progress import say
from .output import Output
from .process_group import ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..launchers import Launch

NOT_STARTED_EXIT = 127  # a shell's exit code for a command that cannot be run
_AFTER_SECONDS = 5.0  # each command that runs at the end; all that AWS Batch gives a container then is 30 s
_AFTER_GRACE = 1.0
_SHOWN = 80  # characters of a command in a message


@dataclass(frozen=True)
class End:
    """How a node's part of the job ended by itself: an exit code and, unless all is well, what happened."""

    code: int
    cause: str = ""


class Launched:
    """What this node runs for a launch. `ended` is its own end; a node that only serves others has none."""

    def __init__(self, launch: Launch, environ: Mapping[str, str]) -> None:
        self._launch = launch
        self._environ = environ
        self._output = Output()
        self._group: ProcessGroup | None = None
        self._stopping: asyncio.Future[None] | None = None
        self.ended = asyncio.ensure_future(self._run())

    @property
    def serves(self) -> bool:
        """Whether the main node's end decides when this node's part is over."""
        return self._launch.serves or not self._launch.argv

    def tail(self) -> tuple[str, ...]:
        """The last lines that its processes wrote."""
        return self._output.tail()

    async def stop(self, grace: float) -> None:
        """End what runs (SIGTERM, `grace` seconds, SIGKILL), then run what comes after. Later calls join the first."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop(grace))
        await asyncio.shield(self._stopping)

    async def _run(self) -> End:
        for command in self._launch.before:
            end = await self._execute(command, f"`{_shown(command)}`")
            if end.code:
                return end
        if not self._launch.argv:
            await asyncio.Event().wait()
        end = await self._execute(self._launch.argv, "its process")
        if self.serves and not end.code:
            return End(0, "its service ended with exit code 0 before the job did")
        return end

    async def _execute(self, command: Sequence[str], name: str) -> End:
        try:
            self._group = await ProcessGroup.start(command, self._environ, self._output.files)
        except OSError as error:
            return End(NOT_STARTED_EXIT, f"cannot start {command[0]}: {error}")
        code = await asyncio.shield(self._group.ended)
        await self._output.drained()
        return End(code, f"{name} ended with exit code {code}" if code else "")

    async def _stop(self, grace: float) -> None:
        self.ended.cancel()
        await asyncio.wait({self.ended})
        if self._group is not None:
            await self._group.terminate(grace)
        for command in self._launch.after:
            await self._conclude(command)
        await self._output.close()

    async def _conclude(self, command: Sequence[str]) -> None:
        try:
            group = await ProcessGroup.start(command, self._environ, self._output.files)
        except OSError as error:
            say(f"cannot start {command[0]}: {error}")
            return
        await asyncio.wait({group.ended}, timeout=_AFTER_SECONDS)
        if not group.ended.done():
            say(f"`{_shown(command)}` was ended after {_AFTER_SECONDS:g} s")
        await group.terminate(_AFTER_GRACE)


def _shown(command: Sequence[str]) -> str:
    text = " ".join(shlex.quote(word) for word in command)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
