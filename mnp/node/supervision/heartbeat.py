"""Heartbeats on the connections between the main node and the others: how each learns that the other side is lost.

TCP alone tells neither of a host without power nor of a cut cable, and it goes on for a frozen process. The main node
sends beats, each with its bound, and every other node answers each; so the main node's bound is that of all. Silence is
counted in beats this process was awake for, not read from a clock: whoever was suspended, or too busy to look, blames
nobody for it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..rendezvous.wire import pack

if TYPE_CHECKING:
    from ..rendezvous.assembly import Assembly
    from ..rendezvous.wire import Channel

LEAST_BOUND = 0.5  # seconds; below, a busy machine looks like a lost one
BEATS = 5  # in the bound


def start(assembly: Assembly, bound: float) -> None:
    """Bring a `lost` message to the inbox for each node that was not heard for so many seconds, until all closes."""
    if assembly.identity.is_main:
        watch = _watch_others(assembly, bound)
    else:
        ((index, channel),) = assembly.channels.items()
        watch = _watch_main(assembly, index, _Answering(channel, bound))
    assembly.readers.add(asyncio.ensure_future(watch))


async def _watch_others(assembly: Assembly, bound: float) -> None:
    watched = {index: _Silence(channel) for index, channel in assembly.channels.items()}
    while watched:
        beat = pack({"type": "alive", "bound": bound})
        for index in watched:
            assembly.channels[index].post(beat)
        await asyncio.sleep(bound / BEATS)
        for index in [index for index, silence in watched.items() if silence.grows() > BEATS]:
            del watched[index]
            _report(assembly, index, bound)


async def _watch_main(assembly: Assembly, index: int, answering: _Answering) -> None:
    silence = _Silence(answering.channel)
    while True:
        await asyncio.sleep(answering.bound / BEATS)
        if silence.grows() > BEATS:
            _report(assembly, index, answering.bound)
            return


class _Answering:
    """Answers each beat of the main node, and takes over its bound."""

    def __init__(self, channel: Channel, bound: float) -> None:
        self.channel, self.bound = channel, bound
        channel.on_beat = self._answer

    def _answer(self, message: dict[str, Any]) -> None:
        self.bound = float(message["bound"])
        self.channel.post({"type": "alive"})


def _report(assembly: Assembly, index: int, bound: float) -> None:
    cause = f"it was not heard from for {bound:g} s: its host, network or launcher is down"
    assembly.inbox.put_nowait((index, {"type": "lost", "cause": cause}))


class _Silence:
    """How many beats in a row nothing came over a channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._heard, self._beats = channel.heard, 0

    def grows(self) -> int:
        """The number, one beat later."""
        self._beats = 0 if self._channel.heard != self._heard else self._beats + 1
        self._heard = self._channel.heard
        return self._beats
