"""What the main node does with peers that are no nodes of the job: nothing, cheaply, while the nodes come together."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnp.node import network
from mnp.node.card import Card
from mnp.node.identity import Identity
from mnp.node.rendezvous import gathering
from mnp.node.rendezvous import join as rendezvous
from mnp.node.rendezvous.assembly import Assembly, RendezvousError
from mnp.node.rendezvous.wire import GREETING_LIMIT, PROTOCOL, VERSION, Channel, WireError, derive_key, within
from mnp.node.supervision.processes import descendants

from .conftest import LOOPBACK, StartNode

KEY = derive_key("secret", "job", 1)
STRANGER = "127.0.0.2"  # the address strangers come from
CLAIMS = {"job": "job", "attempt": 1, "node": 1}


def _identities(count: int) -> list[Identity]:
    port = network.free_port()
    return [Identity("job", 1, index, 0, count, LOOPBACK, LOOPBACK, port) for index in range(count)]


async def _come(identity: Identity, seconds: float = 30) -> Assembly:
    card = Card(identity.index, f"10.0.0.{identity.index}", "host")
    key = derive_key("secret", identity.job_id, identity.attempt)
    return await rendezvous.assemble(identity, card, key, seconds)


@asynccontextmanager
async def _main_node(nodes: list[Identity]) -> AsyncIterator[None]:
    """The main node listens in the block; at its end the other nodes come, and all have to come together."""
    main = asyncio.ensure_future(_come(nodes[0]))
    await within(10, _listening(nodes[0]))
    try:
        yield
        assemblies = await within(30, asyncio.gather(main, *(_come(node) for node in nodes[1:])))
        assert [len(assembly.roster.cards) for assembly in assemblies] == [len(nodes)] * len(nodes)
        for assembly in assemblies:
            assembly.close()
    finally:
        main.cancel()


async def _listening(main: Identity) -> None:
    while True:
        with suppress(OSError), socket.create_connection((main.address, main.port)):
            return
        await asyncio.sleep(0.01)


async def _open(main: Identity) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(main.address, main.port, local_addr=(STRANGER, 0))


async def _say(main: Identity, data: bytes) -> bytes:
    """All that the main node answers to a stranger who says this and no more."""
    reader, writer = await _open(main)
    answer = b""
    with suppress(ConnectionError):
        writer.write(data)
        writer.write_eof()
        while got := await reader.read(4096):
            answer += got
    writer.close()
    return answer


def _assert_only_a_nonce(answer: bytes) -> None:
    """The answer is the main node's greeting, or what came of it before the connection was reset."""
    size = int.from_bytes(answer[:4], "big")
    assert len(answer) <= 4 + size
    if len(answer) == 4 + size and answer:
        assert json.loads(answer[4:]).keys() == {"protocol", "version", "nonce"}


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def _greeting(**changes: object) -> bytes:
    greeting = {"protocol": PROTOCOL, "version": VERSION, "nonce": "0123456789abcdef" * 2, **CLAIMS, **changes}
    return _frame(json.dumps(greeting).encode())


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
_json_frames = _values.map(lambda value: _frame(json.dumps(value).encode()))
_greetings = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("protocol", "version", "nonce", "job", "attempt", "node"), _values),
).map(lambda changes: _greeting(**changes))
_frames = st.one_of(
    st.binary(max_size=200),
    st.binary(max_size=200).map(_frame),
    st.integers(0, 2**32 - 1).map(lambda size: size.to_bytes(4, "big") + b"x" * 100),
    st.integers(1, 3000).map(lambda depth: _frame(b"[" * depth)),
    _json_frames,
    _greetings,
    st.tuples(_greetings, st.binary(max_size=100).map(_frame)).map(b"".join),
    st.tuples(_greetings, st.integers(0, 100)).map(lambda cut: cut[0][: cut[1]]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_frames, min_size=1, max_size=6))
def test_whatever_strangers_say_the_nodes_come_together(said: list[bytes]) -> None:
    """Any bytes get nothing but a nonce, and change nothing for the nodes of the job."""

    async def run() -> list[bytes]:
        nodes = _identities(2)
        problems: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        async with _main_node(nodes):
            answers = await within(20, asyncio.gather(*(_say(nodes[0], data) for data in said)))
        assert problems == []
        return answers

    for answer in asyncio.run(run()):
        _assert_only_a_nonce(answer)


def test_a_session_of_another_job_cannot_be_replayed() -> None:
    """What a node said to a main node with the same key gets nothing when it is said again."""
    nodes = _identities(2)

    async def run() -> bytes:
        async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(WireError, OSError):
                await Channel.open(reader, writer, KEY, main=True)
            writer.close()

        async with await asyncio.start_server(record, nodes[0].address, nodes[0].port):
            reader, writer = await asyncio.open_connection(nodes[0].address, nodes[0].port)
            sent: list[bytes] = []
            write = writer.write

            def record_and_write(data: bytes | bytearray | memoryview) -> None:
                sent.append(bytes(data))
                write(data)

            writer.write = record_and_write  # type: ignore[method-assign]
            channel = await Channel.open(reader, writer, KEY, main=False, claims=CLAIMS)
            await channel.send({"type": "hello"})
            writer.close()
        async with _main_node(nodes):
            return await _say(nodes[0], b"".join(sent))

    _assert_only_a_nonce(asyncio.run(run()))


def test_slow_and_silent_strangers_are_dropped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who says nothing, or a byte now and then, loses the connection at the time-out."""
    monkeypatch.setattr(gathering, "GREETING_TIMEOUT", 0.3)
    nodes = _identities(2)

    async def dribble() -> None:
        _, writer = await _open(nodes[0])
        with suppress(ConnectionError):
            for byte in _greeting() * 100:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.02)
            pytest.fail("the main node went on listening")

    async def hold() -> None:
        reader, writer = await _open(nodes[0])
        with suppress(ConnectionError):
            while await reader.read(1024):
                pass
        writer.close()

    async def run() -> None:
        async with _main_node(nodes):
            await within(20, asyncio.gather(dribble(), hold()))

    asyncio.run(run())
    assert f"dropped {STRANGER}:" in (said := capsys.readouterr().out)
    assert "it did not show who it is within 0.3 s" in said


def test_a_thousand_strangers_take_little_memory_and_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Of strangers that send and hold, a bounded number is kept, each with a bounded buffer; the log stays short."""
    nodes = _identities(3)
    held: list[socket.socket] = []
    data = (GREETING_LIMIT - 1).to_bytes(4, "big") + b"x" * 1000  # a greeting that never ends

    def intrude() -> None:
        for _ in range(1000):
            stranger = socket.create_connection((nodes[0].address, nodes[0].port), source_address=(STRANGER, 0))
            held.append(stranger)
            with suppress(ConnectionError):
                stranger.sendall(data)

    async def run() -> int:
        async with _main_node(nodes):
            tracemalloc.start()
            await asyncio.to_thread(intrude)
            await asyncio.sleep(0)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return peak

    _allow_open_files(4096)
    try:
        peak = asyncio.run(run())
    finally:
        for stranger in held:
            stranger.close()
    assert peak < 32 * 2**20
    said = [line for line in capsys.readouterr().out.splitlines() if "dropped" in line]
    assert 1 <= len(said) <= 10
    assert "more connections: more than 259 connections wait to show who they are" in said[-1]


def _allow_open_files(number: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard), hard))


def test_a_flood_takes_its_own_places_only() -> None:
    """While a stranger opens connections as fast as it can, nodes at other addresses get in."""
    flood = (
        "import collections, socket, sys\n"
        "held = collections.deque(maxlen=800)\n"
        "while True:\n"
        "    try:\n"
        "        held.append(socket.create_connection((sys.argv[1], int(sys.argv[2])), 1, (sys.argv[3], 0)))\n"
        "        if len(held) == 400:\n"
        "            print('here', flush=True)\n"
        "    except OSError:\n"
        "        held.clear()\n"
    )
    nodes = _identities(3)

    async def run() -> None:
        async with _main_node(nodes):
            intruder = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
            assert intruder.stdout
            await within(30, intruder.stdout.readline())
        intruder.kill()
        await intruder.communicate()

    command = [sys.executable, "-c", flood, nodes[0].address, str(nodes[0].port), STRANGER]
    asyncio.run(run())


@pytest.mark.end_to_end
def test_no_file_descriptor_left_does_not_end_the_rendezvous(start_node: StartNode) -> None:
    """When strangers hold all of the main node's file descriptors, they make room for the nodes."""
    command, port = ("launch", "--with", "env", "--", "true"), network.free_port()
    main = start_node(0, 2, *command, MNP_RENDEZVOUS_PORT=str(port))
    assert main.stdout
    assert "rendezvous 1/2" in main.stdout.readline()
    for pid in (main.pid, *(pid for pid, _ in descendants(main.pid))):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (40, 4096))
    strangers = [socket.create_connection((LOOPBACK, port), source_address=(STRANGER, 0)) for _ in range(100)]
    other = start_node(1, 2, *command, MNP_RENDEZVOUS_PORT=str(port))
    output, _ = main.communicate(timeout=60)
    for stranger in strangers:
        stranger.close()
    assert "no more connections can be accepted: Too many open files" in output
    assert "rendezvous 2/2: node 1" in output
    assert (main.returncode, other.wait(60)) == (0, 0), output


def test_a_late_node_of_the_last_attempt_is_refused_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A node of attempt 1 that still knocks does not get into attempt 2, which comes together without it."""
    late = _identities(2)[1]
    nodes = [replace(node, attempt=2, port=late.port) for node in _identities(2)]

    async def run() -> BaseException | Assembly:
        async with _main_node(nodes):
            (refused,) = await asyncio.gather(_come(late, 0.5), return_exceptions=True)
        return refused

    refused = asyncio.run(run())
    assert isinstance(refused, RendezvousError)
    assert "MNP_SECRET, job or attempt differ" in str(refused)
    seen = r"dropped 127.0.0.1:\d+: it says it is node 1 of job 'job', attempt 1; this is job 'job', attempt 2"
    assert len(re.findall(seen, capsys.readouterr().out)) == 1


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (_greeting(version=VERSION + 1), f"it speaks another version of the protocol: {VERSION + 1}"),
        (_greeting() + _frame(b"\0" * 40), "its message is not authentic: MNP_SECRET, job or attempt differ"),
        (_greeting() + (2**24).to_bytes(4, "big"), "it announced 16777216 bytes, more than the 1024 allowed"),
    ],
)
def test_causes_are_told_to_all_when_a_node_is_missing(data: bytes, cause: str) -> None:
    """When the time is up, what connections were dropped for stands beside the missing nodes, everywhere."""
    nodes = _identities(3)

    async def run() -> list[Assembly | BaseException]:
        present = [asyncio.ensure_future(_come(nodes[0], 1.5)), asyncio.ensure_future(_come(nodes[1]))]
        await within(10, _listening(nodes[0]))
        await _say(nodes[0], data)
        return list(await asyncio.gather(*present, return_exceptions=True))

    for error in asyncio.run(run()):
        assert "node 2 of 3 did not come to the rendezvous within 1.5 s; dropped connections: " in str(error)
        assert cause in str(error)


def test_nobody_can_connect_after_the_rendezvous() -> None:
    """Once all nodes are there the main node listens no more, and those still waiting are dropped."""
    nodes = _identities(2)

    async def run() -> bytes:
        async with _main_node(nodes):
            waiting, writer = await _open(nodes[0])
            await waiting.read(4096)
        rest = await within(5, _rest(waiting))
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await _open(nodes[0])
        return rest

    assert asyncio.run(run()) == b""


async def _rest(reader: asyncio.StreamReader) -> bytes:
    with suppress(ConnectionError):
        return await reader.read()
    return b""
