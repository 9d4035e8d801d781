"""How nodes find each other, on loopback."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from mnp.node import progress, rendezvous
from mnp.node.card import Card
from mnp.node.identity import Identity
from mnp.node.progress import Arrival
from mnp.node.rendezvous.assembly import Assembly, RendezvousError
from mnp.node.rendezvous.wire import derive_key, within

KEY = derive_key("secret", "job", 1)
Identities = Callable[..., list[Identity]]


def _card(identity: Identity) -> Card:
    return Card(identity.index, f"10.0.0.{identity.index}", f"host-{identity.index}", gpus=("NVIDIA H100",) * 8)


async def _come(identity: Identity, seconds: float = 20, key: bytes | None = KEY) -> Assembly:
    return await rendezvous.assemble(identity, _card(identity), key, seconds)


def _all_come(nodes: list[Identity]) -> list[Assembly]:
    """Every node's view after all have started in random order."""

    async def run() -> list[Assembly]:
        shuffled = random.sample(nodes, len(nodes))
        assemblies = await asyncio.gather(*(_come(identity) for identity in shuffled))
        for assembly in assemblies:
            assembly.close()
        return assemblies

    return asyncio.run(run())


@pytest.mark.parametrize(("count", "main_index"), [(1, 0), (4, 0), (4, 2), (32, 0)])
def test_every_node_gets_the_same_roster(identities: Identities, count: int, main_index: int) -> None:
    """Whoever starts first, all nodes end up with all cards by index and the same port."""
    nodes = identities(count, main_index)
    assemblies = _all_come(nodes)
    roster = assemblies[0].roster
    assert all(assembly.roster == roster for assembly in assemblies)
    assert roster.cards == tuple(_card(identity) for identity in nodes)
    assert roster.main_index == main_index
    assert sorted(roster.rank(index) for index in range(count)) == list(range(count))
    assert roster.rank(main_index) == 0


def test_missing_nodes_are_named_to_all(identities: Identities) -> None:
    """When the time is up, the main node and those present say who is missing."""
    nodes = identities(4)

    async def run() -> list[Assembly | BaseException]:
        present = (_come(nodes[0], 1), _come(nodes[2], 20))
        return list(await asyncio.gather(*present, return_exceptions=True))

    main, other = asyncio.run(run())
    assert isinstance(main, RendezvousError)
    assert str(main) == "nodes 1, 3 of 4 did not come to the rendezvous within 1 s"
    assert main.node == 1
    assert isinstance(other, RendezvousError)
    assert "nodes 1, 3 of 4 did not come" in str(other)


def test_absent_main_node_is_named(identities: Identities) -> None:
    """A node that cannot reach the main node says where it looked, and ends in time."""
    node = identities(2)[1]
    with pytest.raises(RendezvousError, match=f"main node 0 at 127.0.0.1:{node.port} could not be reached within 1 s"):
        asyncio.run(_come(node, 1))


def test_several_nodes_without_secret_are_refused(identities: Identities) -> None:
    """Without a secret only one node alone may run."""
    with pytest.raises(RendezvousError, match="MNP_SECRET is not set"):
        asyncio.run(_come(identities(2)[0], key=None))
    assert asyncio.run(_come(identities(1)[0], key=None)).roster.cards[0].index == 0


def test_port_in_use_is_named(identities: Identities) -> None:
    """A main node that cannot listen says on which address and why."""
    node = identities(2)[0]

    async def run() -> None:
        server = await asyncio.start_server(lambda _, __: None, node.address, node.port)
        async with server:
            await _come(node)

    with pytest.raises(RendezvousError, match=f"cannot listen on 127.0.0.1:{node.port}: .*in use"):
        asyncio.run(run())


def _assemble_with_strangers(nodes: list[Identity], strangers: Callable[[], list[asyncio.Task[object]]]) -> None:
    """Both nodes come together although the strangers were at the main node's port first."""

    async def run() -> None:
        main = asyncio.ensure_future(_come(nodes[0]))
        await within(10, _listening(nodes[0]))
        intruders = strangers()
        await asyncio.wait(intruders, timeout=0.2)
        assemblies = await asyncio.gather(main, _come(nodes[1]))
        for assembly in assemblies:
            assembly.close()
        for intruder in intruders:
            intruder.cancel()
        await asyncio.gather(*intruders, return_exceptions=True)
        assert [len(assembly.roster.cards) for assembly in assemblies] == [2, 2]

    asyncio.run(run())


async def _listening(identity: Identity) -> None:
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(identity.address, identity.port)
            writer.close()
            return
        await asyncio.sleep(0.01)


async def _write(identity: Identity, data: bytes) -> None:
    """Connect, write, and stay until the other end closes."""
    reader, writer = await asyncio.open_connection(identity.address, identity.port)
    try:
        writer.write(data)
        with suppress(ConnectionError):
            while await reader.read(1024):
                pass
    finally:
        writer.close()


def test_silent_and_babbling_strangers_do_not_hold_up_the_job(
    identities: Identities, capsys: pytest.CaptureFixture[str]
) -> None:
    """Strangers that say nothing, or nonsense, are dropped by name while the nodes come together."""
    nodes = identities(2)
    talk = [b"", b"", b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x02[]"]
    _assemble_with_strangers(nodes, lambda: [asyncio.ensure_future(_write(nodes[0], data)) for data in talk])
    output = capsys.readouterr().out
    assert "rendezvous: dropped 127.0.0.1:" in output
    assert "JSON that is not an object" in output
    assert Arrival(2, 2, 1, "10.0.0.1") in [progress.parse(line) for line in output.splitlines()]


def test_node_with_another_secret_is_dropped(identities: Identities) -> None:
    """A node with the wrong secret learns so itself, shows no card, and the job goes on without it."""
    nodes = identities(2)
    seen: list[object] = []

    async def intrude() -> object:
        result = await asyncio.gather(_come(nodes[1], 1, derive_key("guess", "job", 1)), return_exceptions=True)
        seen.extend(result)
        return result

    _assemble_with_strangers(nodes, lambda: [asyncio.ensure_future(intrude())])


def test_wrong_secret_is_the_reason_given(identities: Identities) -> None:
    """A node whose secret differs from the main node's says that the secrets differ."""
    nodes = identities(2)

    async def run() -> list[object]:
        guess = derive_key("guess", "job", 1)
        return list(await asyncio.gather(_come(nodes[0], 1.5), _come(nodes[1], 1, guess), return_exceptions=True))

    main, other = asyncio.run(run())
    assert "node 1 of 2 did not come" in str(main)
    assert "MNP_SECRET, job or attempt differ" in str(other)


def test_two_nodes_of_one_index_refuse_the_job(identities: Identities, capsys: pytest.CaptureFixture[str]) -> None:
    """When two nodes at two addresses say they are the same one, all are told both addresses at once."""
    nodes = identities(4)
    twin = replace(_card(nodes[1]), address="10.0.0.9")

    async def run() -> list[Assembly | BaseException]:
        present = [asyncio.ensure_future(_come(node)) for node in nodes[:3]]
        await within(10, _arrived(capsys, "rendezvous 3/4"))
        second = rendezvous.assemble(nodes[1], twin, KEY, 20)
        return list(await asyncio.gather(*present, second, return_exceptions=True))

    main, *others = asyncio.run(run())
    cause = "two nodes say they are node 1: 10.0.0.1 and 10.0.0.9"
    assert str(main) == cause
    assert [str(error) for error in others] == [f"the main node ended the rendezvous: {cause}"] * 3


@pytest.mark.parametrize("refuse_unequal", [True, False])
def test_unequal_nodes_are_refused_or_warned_about(
    identities: Identities, capsys: pytest.CaptureFixture[str], refuse_unequal: object
) -> None:
    """A node with fewer GPUs is named to all nodes and refuses the job; where that is asked for, it is only said."""
    nodes = identities(3)
    cards = [_card(node) for node in nodes]
    cards[2] = replace(cards[2], gpus=cards[2].gpus[1:])

    async def run() -> list[Assembly | BaseException]:
        coming = (
            rendezvous.assemble(node, card, KEY, 20, refuse_unequal=bool(refuse_unequal))
            for node, card in zip(nodes, cards, strict=True)
        )
        found = await asyncio.gather(*coming, return_exceptions=True)
        for assembly in found:
            if isinstance(assembly, Assembly):
                assembly.close()
        return list(found)

    found = asyncio.run(run())
    said = "nodes differ in GPUs: node 2 (10.0.0.2) has 7 x NVIDIA H100; 2 nodes have 8 x NVIDIA H100"
    if refuse_unequal:
        assert all(isinstance(error, RendezvousError) and said in str(error) for error in found)
    else:
        assert all(isinstance(assembly, Assembly) for assembly in found)
        assert f"warning: {said}" in capsys.readouterr().out


def test_node_that_comes_again_takes_its_own_place(identities: Identities, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that comes again from its address is in, though its earlier connection seems alive; that one is told."""
    nodes = identities(3)

    async def run() -> object:
        main = asyncio.ensure_future(_come(nodes[0]))
        first = asyncio.ensure_future(_come(nodes[1]))
        await within(10, _arrived(capsys, "node 1 (10.0.0.1) is here"))
        again = asyncio.ensure_future(_come(nodes[1]))
        (refusal,) = await asyncio.gather(first, return_exceptions=True)
        assemblies = await asyncio.gather(main, again, _come(nodes[2]))
        for assembly in assemblies:
            assembly.close()
        return refusal

    assert "node 1 came again from 127.0.0.1:" in str(asyncio.run(run()))


async def _arrived(capsys: pytest.CaptureFixture[str], text: str) -> None:
    seen = ""
    while text not in seen:
        seen += capsys.readouterr().out
        await asyncio.sleep(0.01)


def test_node_that_leaves_early_can_come_back(identities: Identities, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that goes away before all are there is said to, and its place is free again."""
    nodes = identities(3)

    async def run() -> list[Assembly]:
        main = asyncio.ensure_future(_come(nodes[0]))
        first = asyncio.ensure_future(_come(nodes[1]))
        await within(10, _arrived(capsys, "node 1 (10.0.0.1) is here"))
        first.cancel()
        await within(10, _arrived(capsys, "went away again"))
        assemblies = await asyncio.gather(main, _come(nodes[1]), _come(nodes[2]))
        for assembly in assemblies:
            assembly.close()
        return list(assemblies)

    assert [len(assembly.roster.cards) for assembly in asyncio.run(run())] == [3, 3, 3]
