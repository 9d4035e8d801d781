"""The authenticated channel, over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from mnp.node.rendezvous.wire import (
    FRAME_LIMIT,
    GREETING_LIMIT,
    VERSION,
    Channel,
    WireError,
    derive_key,
    derive_token,
    hkdf,
    pack,
    within,
)

KEY = derive_key("secret", "job", 1)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


async def _converse(main: Serve, node: Serve) -> object:
    """What `main` returns or raises while `node` is at the other end of its connection."""
    outcome: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            outcome.set_result(await main(reader, writer))
        except WireError as error:
            outcome.set_exception(error)
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        await node(reader, writer)
        return await within(10, outcome)
    finally:
        writer.close()
        server.close()


async def _receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> object:
    channel = await Channel.open(reader, writer, KEY, main=True)
    return [await channel.receive(), await channel.receive()]


def _record(writer: asyncio.StreamWriter) -> list[bytes]:
    """All that is written from now on, which is still sent."""
    sent: list[bytes] = []
    write = writer.write

    def record(data: bytes | bytearray | memoryview) -> None:
        sent.append(bytes(data))
        write(data)

    writer.write = record  # type: ignore[method-assign]
    return sent


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def _greeting(**changes: object) -> bytes:
    return _frame(json.dumps({"protocol": "mnp", "version": VERSION, **changes}).encode())


def test_hkdf_matches_rfc_5869() -> None:
    """The key derivation is HKDF-SHA256: the first 32 bytes of RFC 5869's test case 1."""
    salt, info = bytes(range(13)), bytes(range(0xF0, 0xFA))
    expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    assert hkdf(b"\x0b" * 22, salt=salt, info=info).hex() == expected


def test_each_attempt_of_each_job_has_its_own_key() -> None:
    """A node of another job or attempt holds another key."""
    keys = {derive_key("secret", "job", 1), derive_key("secret", "job", 2), derive_key("secret", "other", 1)}
    assert len(keys) == 3


def test_messages_arrive_in_order() -> None:
    """What one end sends, the other receives."""

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = await Channel.open(reader, writer, KEY, main=False)
        await channel.send({"n": 1})
        await channel.send({"n": "zwei ü"})

    assert asyncio.run(_converse(_receive, node)) == [{"n": 1}, {"n": "zwei ü"}]


def test_another_key_is_refused() -> None:
    """A peer with another secret gets nothing accepted."""

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = await Channel.open(reader, writer, derive_key("guess", "job", 1), main=False)
        await channel.send({"n": 1})

    with pytest.raises(WireError, match="not authentic"):
        asyncio.run(_converse(_receive, node))


def test_a_frame_sent_twice_is_refused() -> None:
    """A frame replayed in its own session is not authentic the second time."""

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = await Channel.open(reader, writer, KEY, main=False)
        sent = _record(writer)
        await channel.send({"n": 1})
        writer.write(sent[0])

    with pytest.raises(WireError, match="not authentic"):
        asyncio.run(_converse(_receive, node))


def test_a_recorded_session_cannot_be_replayed() -> None:
    """All bytes of a good session, sent again on a new connection, are refused: the main node's nonce is new."""
    recorded: list[bytes] = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = _record(writer)
        channel = await Channel.open(reader, writer, KEY, main=False)
        await channel.send({"n": 1})
        await channel.send({"n": 2})
        recorded.extend(sent)

    async def replay(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(recorded))

    assert asyncio.run(_converse(_receive, record)) == [{"n": 1}, {"n": 2}]
    with pytest.raises(WireError, match="not authentic"):
        asyncio.run(_converse(_receive, replay))


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "more than the 1024 allowed"),
        ((GREETING_LIMIT + 1).to_bytes(4, "big"), "more than the 1024 allowed"),
        (_frame(b"\xff\xfe"), "not JSON"),
        (_frame(b"[" * 1000), "not JSON"),
        (_frame(b"[]"), "not an object"),
        (_frame(b'{"protocol":"other"}'), "does not speak this protocol"),
        (_greeting(nonce="0" * 32, version=1), "another version of the protocol: 1, this node 2"),
        (_greeting(nonce="0" * 32, version="2"), "does not speak this protocol"),
        (_greeting(nonce="0" * 31), "no nonce"),
        (_greeting(nonce="\ud800" * 32), "no nonce"),
        (_greeting(nonce=["0"] * 32), "no nonce"),
    ],
)
def test_garbage_is_refused(sent: bytes, expected: str) -> None:
    """A stranger's bytes end its connection with the reason, before anything large is read."""

    async def node(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)

    with pytest.raises(WireError, match=expected):
        asyncio.run(_converse(_receive, node))


def test_an_oversized_frame_is_refused() -> None:
    """Also an authenticated peer cannot make the other end read without bound."""

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Channel.open(reader, writer, KEY, main=False)
        writer.write((FRAME_LIMIT + 1).to_bytes(4, "big"))

    with pytest.raises(WireError, match=f"more than the {FRAME_LIMIT} allowed"):
        asyncio.run(_converse(_receive, node))


def test_a_reflected_session_is_refused() -> None:
    """A peer that sends back whatever it gets proves nothing: not even its nonce is its own."""

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1024):
            writer.write(data)

    with pytest.raises(WireError, match="no nonce of its own"):
        asyncio.run(_converse(_receive, node))


def test_a_reflected_frame_is_refused() -> None:
    """Each direction has its own key, so a node's frame sent back to it is not authentic."""

    async def main(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Channel.open(reader, writer, KEY, main=True)
        while data := await reader.read(1024):
            writer.write(data)

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = await Channel.open(reader, writer, KEY, main=False)
        await channel.send({"n": 1})
        with pytest.raises(WireError, match="not authentic"):
            await channel.receive()
        writer.close()

    asyncio.run(_converse(main, node))


def test_one_message_packed_once_reaches_every_channel() -> None:
    """A message made ready once is authentic on each channel and at each place in its order."""

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = await Channel.open(reader, writer, KEY, main=False)
        packed = pack({"n": 1})
        await channel.send(packed)
        await channel.send(packed)

    for _ in range(2):
        assert asyncio.run(_converse(_receive, node)) == [{"n": 1}, {"n": 1}]


def test_a_lost_connection_is_a_wire_error() -> None:
    """A peer that goes away in the middle of a frame is reported as such."""

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Channel.open(reader, writer, KEY, main=False)
        writer.write(b"\x00\x00\x00\x40half")
        writer.close()

    with pytest.raises(WireError, match="closed the connection"):
        asyncio.run(_converse(_receive, node))


def test_the_jobs_token_is_one_for_all_nodes_and_not_the_key() -> None:
    """Each node derives the same word from the key, and another attempt another one."""
    tokens = {derive_token(derive_key("secret", "job", attempt)) for attempt in (1, 1, 2)}
    assert len(tokens) == 2
    assert derive_key("secret", "job", 1).hex() not in tokens
