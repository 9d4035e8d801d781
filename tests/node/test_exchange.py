"""What nodes exchange once they are together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mnp.node import rendezvous
from mnp.node.card import Card
from mnp.node.identity import Identity
from mnp.node.rendezvous.assembly import Assembly
from mnp.node.rendezvous.exchange import ExchangeError, PreparationError, exchange
from mnp.node.rendezvous.wire import derive_key, within

KEY = derive_key("secret", "job", 1)
Identities = Callable[..., list[Identity]]
Values = dict[int, dict[str, Any]]


async def _value(index: int) -> dict[str, Any]:
    return {"of": index}


async def _fails() -> dict[str, Any]:
    raise PreparationError("the image lacks sshd")


async def _breaks() -> dict[str, Any]:
    raise OSError(28, "No space left on device")


async def _never() -> dict[str, Any]:
    await asyncio.Event().wait()
    return {}


async def _assembled(nodes: list[Identity]) -> list[Assembly]:
    pairs = [(node, Card(node.index, f"10.0.0.{node.index}", "host")) for node in nodes]
    return list(await asyncio.gather(*(rendezvous.assemble(node, card, KEY, 20) for node, card in pairs)))


def _exchanged(
    nodes: list[Identity], own: Callable[[int], Awaitable[dict[str, Any]]], seconds: float = 20
) -> list[Values | BaseException]:
    """Each node's outcome when node i gives own(i)."""

    async def run() -> list[Values | BaseException]:
        assemblies = await _assembled(nodes)
        tasks = [exchange(each, "keys", own(each.identity.index), seconds) for each in assemblies]
        outcomes = await within(60, asyncio.gather(*tasks, return_exceptions=True))
        for assembly in assemblies:
            assembly.close()
        return list(outcomes)

    return asyncio.run(run())


@pytest.mark.parametrize(("count", "main_index"), [(1, 0), (3, 0), (3, 2)])
def test_every_node_gets_every_nodes_value(identities: Identities, count: int, main_index: int) -> None:
    """All nodes see the same values, whichever is the main node."""
    values = {index: {"of": index} for index in range(count)}
    assert _exchanged(identities(count, main_index), _value) == [values] * count


@pytest.mark.parametrize("failing", [{1}, {0}, {1, 2}])
def test_a_node_that_cannot_is_named_on_all(identities: Identities, failing: set[int]) -> None:
    """Every node learns which node has failed, why, and that others failed too."""
    outcomes = _exchanged(identities(3), lambda index: _fails() if index in failing else _value(index))
    first, *others = sorted(failing)
    also = f" (also failed: {', '.join(map(str, others))})" if others else ""
    assert [str(outcome) for outcome in outcomes] == [f"the image lacks sshd{also}"] * 3
    assert [outcome.node for outcome in outcomes if isinstance(outcome, ExchangeError)] == [first] * 3


def test_a_node_whose_disk_is_full_is_named(identities: Identities) -> None:
    """What the system refuses to a node ends the exchange on all, and is no traceback."""
    outcomes = _exchanged(identities(2), lambda index: _breaks() if index else _value(index))
    assert [str(outcome) for outcome in outcomes] == ["[Errno 28] No space left on device"] * 2


def test_a_node_that_is_late_is_named(identities: Identities) -> None:
    """The wait for a node is bounded, and all nodes learn which one it was."""
    outcomes = _exchanged(identities(3), lambda index: _never() if index == 2 else _value(index), seconds=0.3)
    assert {outcome.node for outcome in outcomes if isinstance(outcome, ExchangeError)} == {2}
    assert "within 0.3 s" in str(outcomes[0])
    assert str(outcomes[1]) == str(outcomes[0])


@pytest.mark.parametrize("lost", [0, 1])
def test_a_node_that_vanishes_is_named(identities: Identities, lost: int) -> None:
    """The loss of a node's connection ends the exchange on the others."""

    async def run() -> ExchangeError:
        assemblies = await _assembled(identities(2))
        waiting = asyncio.ensure_future(exchange(assemblies[1 - lost], "keys", _value(1 - lost), 20))
        assemblies[lost].close()
        with pytest.raises(ExchangeError) as caught:
            await within(60, waiting)
        assemblies[1 - lost].close()
        return caught.value

    error = asyncio.run(run())
    assert (error.node, "lost" in str(error)) == (lost, True)


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_node_that_is_stopped_says_so(identities: Identities, stopped: int) -> None:
    """SIGTERM to a node in the middle of an exchange ends it on the others at once, and names that node."""

    async def run() -> ExchangeError:
        assemblies = await _assembled(identities(2))
        stopping = asyncio.ensure_future(exchange(assemblies[stopped], "keys", _never(), 20))
        waiting = asyncio.ensure_future(exchange(assemblies[1 - stopped], "keys", _value(1 - stopped), 20))
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(ExchangeError) as caught:
            await within(60, waiting)
        for assembly in assemblies:
            assembly.close()
        return caught.value

    error = asyncio.run(run())
    assert (error.node, str(error)) == (stopped, "it was stopped (SIGTERM)")
