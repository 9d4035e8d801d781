"""Run a command on all nodes and end it on all of them as soon as it fails on one.

AWS Batch itself notices only the main node's end, so the main node has to fail when another one does.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .process_group import SIGNAL_EXIT, ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .rendezvous import Assembly, Event

SIGTERM_EXIT = SIGNAL_EXIT + signal.SIGTERM
_LAST_SIGNAL = 64
NOT_STARTED_EXIT = 127  # a shell's exit code for a command that cannot be run


@dataclass(frozen=True)
class Failure:
    """A node failed: its index, what happened, and its exit code if it ended with one."""

    index: int
    cause: str
    exit_code: int | None = None

    @property
    def gone(self) -> bool:
        """Whether the node vanished, or a signal ended its process: then others' errors are consequences."""
        return self.exit_code is None or SIGNAL_EXIT < self.exit_code <= SIGNAL_EXIT + _LAST_SIGNAL


@dataclass(frozen=True)
class Limits:
    """Bounds in seconds.

    `grace` from SIGTERM to SIGKILL; `linger` to wait for the other nodes after the main node's process ended well;
    `settle` to wait for more reports before a failure is named, since one death makes all other processes fail too.
    """

    grace: float = 15.0
    linger: float = 120.0
    settle: float = 1.0


@dataclass
class _Watch:
    """What the main node knows of the job's processes."""

    pending: set[int]
    failures: list[Failure] = field(default_factory=list)

    def note_exit(self, index: int, code: int) -> None:
        if index in self.pending:
            self.pending.discard(index)
            if code:
                self.failures.append(Failure(index, f"its process ended with exit code {code}", code))

    def note_event(self, event: Event) -> None:
        index, message = event
        if message is None:
            if index in self.pending:
                self.pending.discard(index)
                self.failures.append(Failure(index, "its connection was lost before it reported an end"))
        elif message.get("type") == "exit":
            self.note_exit(index, int(message.get("code", 1)))


def root_cause(failures: Sequence[Failure]) -> Failure:
    """The failure to name: the first node that vanished or was killed, else the first that failed."""
    return next((failure for failure in failures if failure.gone), failures[0])


async def supervise(
    assembly: Assembly, argv: Sequence[str], environ: Mapping[str, str], limits: Limits | None = None
) -> Failure | None:
    """Run the command on this node as part of the job; None once it ended well on all nodes.

    On the main node a failure is the job's: the node at fault, after all was ended everywhere. On another node
    it is this node's own, or the main node's word. Cancelling (SIGTERM) ends the command first.
    """
    limits = limits or Limits()
    index = assembly.identity.index
    try:
        group = await ProcessGroup.start(argv, environ)
    except OSError as error:
        return await _not_started(assembly, Failure(index, f"cannot start {argv[0]}: {error}", NOT_STARTED_EXIT))
    try:
        if assembly.identity.is_main:
            return await _supervise_all(assembly, group, limits)
        return await _supervise_own(assembly, group, limits)
    except asyncio.CancelledError:
        if assembly.identity.is_main:
            await assembly.tell_all({"type": "stop", "cause": "SIGTERM"})
        await group.terminate(limits.grace)
        if not assembly.identity.is_main:
            await assembly.tell_all({"type": "exit", "code": SIGTERM_EXIT})
        raise


async def _not_started(assembly: Assembly, failure: Failure) -> Failure:
    stop = {"type": "stop", "cause": describe(assembly, failure)}
    await assembly.tell_all(stop if assembly.identity.is_main else {"type": "exit", "code": NOT_STARTED_EXIT})
    return failure


async def _supervise_all(assembly: Assembly, group: ProcessGroup, limits: Limits) -> Failure | None:
    identity = assembly.identity
    watch = _Watch(set(range(identity.count)))
    await _collect(assembly, group, watch, limits.linger)
    if not watch.failures and not watch.pending:
        await assembly.tell_all({"type": "done"})
        return None
    if watch.failures:
        await _settle(assembly, group, watch, limits.settle)
    else:
        waited = f"still running {limits.linger:g} s after the main node's process ended"
        watch.failures.extend(Failure(index, waited) for index in sorted(watch.pending))
    failure = root_cause(watch.failures)
    await assembly.tell_all({"type": "stop", "cause": describe(assembly, failure)})
    await group.terminate(limits.grace)
    return failure


async def _collect(assembly: Assembly, group: ProcessGroup, watch: _Watch, linger: float) -> None:
    """Take note of ends until one is a failure, all ended, or `linger` passed since this node's own end."""
    loop, main_index = asyncio.get_running_loop(), assembly.identity.index
    deadline = None
    while watch.pending and not watch.failures:
        if group.ended.done():
            watch.note_exit(main_index, group.ended.result())
            deadline = deadline or loop.time() + linger
        if not watch.pending or watch.failures or (deadline and loop.time() >= deadline):
            return
        await _next_note(assembly, group, watch, None if deadline is None else deadline - loop.time())


async def _settle(assembly: Assembly, group: ProcessGroup, watch: _Watch, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while watch.pending and not root_cause(watch.failures).gone and loop.time() < deadline:
        await _next_note(assembly, group, watch, deadline - loop.time())
        if group.ended.done():
            watch.note_exit(assembly.identity.index, group.ended.result())


async def _next_note(assembly: Assembly, group: ProcessGroup, watch: _Watch, seconds: float | None) -> None:
    """Wait for the next message, this node's own end, or the time-out; note the message."""
    message = asyncio.ensure_future(assembly.inbox.get())
    waited: set[asyncio.Future[int] | asyncio.Future[Event]] = {message}
    if not group.ended.done():
        waited.add(group.ended)
    try:
        await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if message.done():
            watch.note_event(message.result())
    finally:
        message.cancel()


async def _supervise_own(assembly: Assembly, group: ProcessGroup, limits: Limits) -> Failure | None:
    identity = assembly.identity
    order = asyncio.ensure_future(assembly.inbox.get())
    try:
        await asyncio.wait({order, group.ended}, return_when=asyncio.FIRST_COMPLETED)
        failure = None
        if not order.done():
            code = group.ended.result()
            if code:
                failure = Failure(identity.index, f"its process ended with exit code {code}", code)
            await assembly.tell_all({"type": "exit", "code": code})
        _, message = await order
    finally:
        order.cancel()
    await group.terminate(limits.grace)
    if message is None:
        return failure or Failure(identity.main_index, "the connection to the main node was lost")
    if message.get("type") == "done":
        return failure
    return failure or Failure(identity.index, f"stopped by the main node: {message.get('cause')}")


def describe(assembly: Assembly, failure: Failure) -> str:
    """The failure in one line that names the node."""
    card = next((card for card in assembly.roster.cards if card.index == failure.index), None)
    return f"node {failure.index} ({card.address if card else 'unknown address'}): {failure.cause}"


@contextlib.contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Let the first SIGTERM or SIGINT cancel the running task; later ones change nothing.

    As process 1 of a container a program without a handler would never notice SIGTERM.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    seen: list[signal.Signals] = []

    def cancel(number: signal.Signals) -> None:
        if not seen and task is not None:
            task.cancel()
        seen.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, cancel, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
