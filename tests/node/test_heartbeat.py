"""Heartbeats between nodes on loopback; vanished hosts and cut cables are in tests/hosts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mnp.node import rendezvous
from mnp.node.card import Card
from mnp.node.identity import Identity
from mnp.node.rendezvous.assembly import Assembly
from mnp.node.rendezvous.wire import derive_key, within
from mnp.node.supervision import heartbeat

if TYPE_CHECKING:
    from mnp.node.rendezvous.assembly import Event

KEY = derive_key("secret", "job", 1)
Identities = Callable[..., list[Identity]]


async def _assemble(nodes: list[Identity]) -> list[Assembly]:
    come = (rendezvous.assemble(node, Card(node.index, node.address, "host"), KEY, 20) for node in nodes)
    return list(await asyncio.gather(*come))


def _first_event(nodes: list[Identity], bounds: dict[int, float], watcher: int) -> Event:
    """What comes first to the inbox of a node, when those with a bound send and answer heartbeats."""

    async def run() -> Event:
        assemblies = await _assemble(nodes)
        for index, bound in bounds.items():
            heartbeat.start(assemblies[index], bound)
        event = await within(30, assemblies[watcher].inbox.get())
        for assembly in assemblies:
            assembly.close()
        return event

    return asyncio.run(run())


def test_a_node_that_does_not_answer_is_lost(identities: Identities) -> None:
    """The main node names the silent node, and not the one that answers."""
    index, message = _first_event(identities(3), {0: 0.5, 1: 0.5}, 0)
    assert (index, message) == (
        2,
        {"type": "lost", "cause": "it was not heard from for 0.5 s: its host, network or launcher is down"},
    )


def test_a_silent_main_node_is_lost(identities: Identities) -> None:
    """A node notices that the main node sends nothing."""
    index, message = _first_event(identities(2), {1: 0.5}, 1)
    assert index == 0
    assert message is not None
    assert message["type"] == "lost"


def test_the_main_nodes_bound_counts_for_all(identities: Identities) -> None:
    """A node with a shorter bound of its own does not lose a main node that beats more slowly, and the other way."""

    async def run() -> list[int]:
        assemblies = await _assemble(identities(2))
        for assembly, bound in zip(assemblies, (4.0, 0.5), strict=True):
            heartbeat.start(assembly, bound)
        await asyncio.sleep(1.5)
        waiting = [assembly.inbox.qsize() for assembly in assemblies]
        for assembly in assemblies:
            assembly.close()
        return waiting

    assert asyncio.run(run()) == [0, 0]


def test_who_was_asleep_blames_nobody(identities: Identities) -> None:
    """A process that was suspended or busy for longer than the bound has lost no one when it goes on."""

    async def run() -> list[int]:
        assemblies = await _assemble(identities(3))
        for assembly in assemblies:
            heartbeat.start(assembly, 0.5)
        await asyncio.sleep(0.2)
        time.sleep(1.5)  # noqa: ASYNC251 - nobody in this process can look
        await asyncio.sleep(0.5)
        waiting = [assembly.inbox.qsize() for assembly in assemblies]
        for assembly in assemblies:
            assembly.close()
        return waiting

    assert asyncio.run(run()) == [0, 0, 0]


def test_a_thousand_nodes_all_answer_in_time(identities: Identities) -> None:
    """The main node of 1,000 nodes, with all of them in one busy event loop, loses none, at half the usual bound."""

    async def run() -> tuple[int, int]:
        assemblies = await _assemble(identities(1000))
        for assembly in assemblies:
            heartbeat.start(assembly, 5.0)
        main = assemblies[0]
        while min(channel.heard for channel in main.channels.values()) < 4:  # noqa: ASYNC110 - hello, card, two answers
            await asyncio.sleep(0.1)
        lost = sum(assembly.inbox.qsize() for assembly in assemblies)
        for assembly in assemblies:
            assembly.close()
        return lost, len(main.channels)

    assert asyncio.run(run()) == (0, 999)
