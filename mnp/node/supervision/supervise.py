"""Run a launch on all nodes and end it on all of them as soon as it fails on one.

AWS Batch itself notices only the main node's end, so the main node has to fail when another one does. Every other
node tells the main node when its part ended (`exit`, or `serves` at the start if the main node's end decides for it),
waits for its word (`done` or `stop`) and says `ended` last.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..limits import Limits
from .failure import SIGTERM_EXIT, Failure, describe, root_cause
from .launched import Launched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..launchers import Launch
    from ..rendezvous.assembly import Assembly, Event
    from .launched import End

_STOPPED = "it was stopped (SIGTERM)"
_PARTING = 10.0  # seconds beyond the grace time that the main node waits for the others to end what they run


async def supervise(
    assembly: Assembly, launch: Launch, environ: Mapping[str, str], limits: Limits | None = None
) -> Failure | None:
    """Run the launch on this node as part of the job; None once it ended well on all nodes.

    On the main node a failure is the job's: the node at fault, after all was ended everywhere. On another node
    it is this node's own, or the main node's word. The main node's launch has a command that ends by itself; the end
    of nodes that serve it is not waited for. Cancelling (SIGTERM) ends what runs first.
    """
    if assembly.identity.is_main and (launch.serves or not launch.argv):
        raise ValueError("the main node's launch must have a command that ends by itself")
    limits = limits or Limits()
    launched = Launched(launch, environ)
    node = _Main(assembly, launched, limits) if assembly.identity.is_main else _Other(assembly, launched, limits)
    try:
        return await node.supervise()
    except asyncio.CancelledError:
        await node.cancelled()
        raise
    finally:
        await launched.stop(limits.grace)


def give_up(assembly: Assembly, cause: str) -> Failure:
    """Tell the others that this node cannot run its part of the job at all. Returns the failure to report."""
    failure = Failure(assembly.identity.index, cause, 1)
    if assembly.identity.is_main:
        assembly.post_all({"type": "stop", "cause": describe(assembly, failure)})
    else:
        assembly.post_all({"type": "exit", "code": 1, "cause": cause})
    return failure


@dataclass
class _Watch:
    """What the main node knows of the nodes: whose end it waits for, who serves, and whom it can still talk to."""

    running: set[int]
    here: set[int]
    serving: set[int] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return bool(self.failures) or not self.running

    def note_exit(self, index: int, message: Mapping[str, Any]) -> None:
        if index not in self.running | self.serving:
            return
        code = int(message.get("code", 1))
        if code or index in self.serving:
            cause = str(message.get("cause") or f"its process ended with exit code {code}")
            self.failures.append(Failure(index, cause, code, tuple(map(str, message.get("tail", ())))))
        self.running.discard(index)
        self.serving.discard(index)

    def note_loss(self, index: int, cause: str) -> None:
        self.here.discard(index)
        if index in self.running | self.serving:
            self.failures.append(Failure(index, cause))
        self.running.discard(index)
        self.serving.discard(index)

    def note_event(self, event: Event) -> None:
        index, message = event
        kind = None if message is None else message.get("type")
        if message is None:
            self.note_loss(index, "its connection was lost before it reported an end")
        elif kind == "lost":
            self.note_loss(index, str(message["cause"]))
        elif kind == "exit":
            self.note_exit(index, message)
        elif kind == "serves" and index in self.running:
            self.running.discard(index)
            self.serving.add(index)
        elif kind == "ended":
            self.here.discard(index)


class _Main:
    """The main node's side."""

    def __init__(self, assembly: Assembly, launched: Launched, limits: Limits) -> None:
        self._assembly, self._launched, self._limits = assembly, launched, limits
        self._index = assembly.identity.index
        self._watch = _Watch(set(range(assembly.identity.count)), set(assembly.channels))

    async def supervise(self) -> Failure | None:
        watch, limits = self._watch, self._limits
        await self._collect(limits.linger)
        if watch.failures:
            await self._settle(limits.settle)
        elif watch.running:
            first, *others = sorted(watch.running)
            cause = f"still running {limits.linger:g} s after the main node's process ended"
            also = f"; so are nodes {', '.join(map(str, others))}" if others else ""
            watch.failures.append(Failure(first, cause + also))
        failure = root_cause(watch.failures) if watch.failures else None
        order = {"type": "stop", "cause": describe(self._assembly, failure)} if failure else {"type": "done"}
        await self._end(order)
        return failure

    async def cancelled(self) -> None:
        await self._end({"type": "stop", "cause": describe(self._assembly, Failure(self._index, _STOPPED))})

    async def _end(self, order: dict[str, Any]) -> None:
        """End the job on all nodes. Once the main node is gone, AWS Batch leaves the others little time."""
        self._assembly.post_all(order)
        stopping = asyncio.ensure_future(self._launched.stop(self._limits.grace))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._limits.grace + _PARTING
        while self._watch.here and loop.time() < deadline:
            await self._next_note(deadline - loop.time())
        await stopping

    async def _collect(self, linger: float) -> None:
        """Take note of ends until one is a failure, all ended, or `linger` passed since this node's own end."""
        loop, own = asyncio.get_running_loop(), self._launched.ended
        deadline = None
        while not self._watch.over and (deadline is None or loop.time() < deadline):
            await self._next_note(None if deadline is None else deadline - loop.time())
            if deadline is None and own.done():
                deadline = loop.time() + linger

    async def _settle(self, seconds: float) -> None:
        loop, watch = asyncio.get_running_loop(), self._watch
        deadline = loop.time() + seconds
        while watch.running and not root_cause(watch.failures).gone and loop.time() < deadline:
            await self._next_note(deadline - loop.time())

    async def _next_note(self, seconds: float | None) -> None:
        """Wait for the next message, this node's own end, or the time-out; note what came."""
        own = self._launched.ended
        message = asyncio.ensure_future(self._assembly.inbox.get())
        waited: set[asyncio.Future[End] | asyncio.Future[Event]] = {message}
        if not own.done():
            waited.add(own)
        elif self._index in self._watch.running and not own.cancelled():
            seconds = 0
        try:
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if message.done():
                self._watch.note_event(message.result())
            if own.done() and not own.cancelled():
                self._watch.note_exit(self._index, _exit(own.result(), self._launched))
        finally:
            message.cancel()


class _Other:
    """Another node's side."""

    def __init__(self, assembly: Assembly, launched: Launched, limits: Limits) -> None:
        self._assembly, self._launched, self._limits = assembly, launched, limits

    async def supervise(self) -> Failure | None:
        assembly, launched, index = self._assembly, self._launched, self._assembly.identity.index
        failure = None
        if launched.serves:
            assembly.post_all({"type": "serves"})
        order = asyncio.ensure_future(assembly.inbox.get())
        try:
            await asyncio.wait({order, launched.ended}, return_when=asyncio.FIRST_COMPLETED)
            if not order.done():
                end = launched.ended.result()
                if end.cause:
                    failure = Failure(index, end.cause, end.code)
                assembly.post_all(_exit(end, launched))
            _, message = await order
        finally:
            order.cancel()
        if message is not None and message.get("type") == "lost" and not failure:
            # It may hear this although this node does not hear it.
            cause = f"it lost the main node: {message['cause']}"
            assembly.post_all({"type": "exit", "code": 1, "cause": cause})
        await self._end()
        return failure or self._ordered(message)

    def _ordered(self, message: dict[str, Any] | None) -> Failure | None:
        identity = self._assembly.identity
        if message is None:
            return Failure(identity.main_index, "the connection to the main node was lost")
        if message.get("type") == "lost":
            return Failure(identity.main_index, str(message["cause"]))
        if message.get("type") == "done":
            return None
        return Failure(identity.index, f"stopped by the main node: {message.get('cause')}")

    async def cancelled(self) -> None:
        self._assembly.post_all({"type": "exit", "code": SIGTERM_EXIT, "cause": _STOPPED})
        await self._end()

    async def _end(self) -> None:
        await self._launched.stop(self._limits.grace)
        self._assembly.post_all({"type": "ended"})


def _exit(end: End, launched: Launched) -> dict[str, Any]:
    tail = list(launched.tail()) if end.cause else []
    return {"type": "exit", "code": end.code, "cause": end.cause, "tail": tail}


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
