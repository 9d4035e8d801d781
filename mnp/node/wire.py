"""The authenticated channel between a node and the main node.

Frames are JSON objects behind a four-byte length. Both ends first greet with a fresh nonce; from these and the
job's key comes a key per direction, and every later frame carries HMAC-SHA256 over its sequence number and
content. So a frame proves that its sender holds the key, and cannot be replayed in another place, direction,
session or job. The frames are authenticated, not encrypted: nothing secret travels.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

PROTOCOL = "mnp"
VERSION = 1
GREETING_LIMIT = 1024  # bytes read from a peer that has proved nothing yet
FRAME_LIMIT = 16 * 2**20  # bytes; the roster of a thousand 8-GPU nodes takes about 1 MiB

_MAC_BYTES = hashlib.sha256().digest_size
_T = TypeVar("_T")


class WireError(Exception):
    """The peer broke the protocol, holds another key or went away."""


def derive_key(secret: str, job_id: str, attempt: int) -> bytes:
    """The key of one attempt of one job."""
    return hkdf(secret.encode(), salt=f"{job_id}/{attempt}".encode(), info=b"mnp/v1/job")


def hkdf(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    """32 bytes by HKDF-SHA256 (RFC 5869)."""
    extracted = hmac.new(salt, secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


async def within(seconds: float, awaitable: Awaitable[_T]) -> _T:
    """The awaitable's result; TimeoutError (the built-in one on every Python) once the time is up."""
    task = asyncio.ensure_future(awaitable)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise TimeoutError(f"no answer within {seconds:g} s")
        return task.result()
    finally:
        task.cancel()


class Channel:
    """One authenticated connection. `open` greets; then `send` and `receive` exchange JSON objects."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        keys: tuple[bytes, bytes],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._send_key, self._receive_key = keys
        self._sent = 0
        self._received = 0
        self.peer = peer_name(writer)

    @staticmethod
    async def open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: bytes, *, main: bool) -> Channel:
        """The channel after the greetings. Raises WireError for a stranger or another protocol version."""
        own = secrets.token_hex(16)
        _write(writer, _encode({"protocol": PROTOCOL, "version": VERSION, "nonce": own}))
        await _drain(writer)
        greeting = _decode(await _read(reader, GREETING_LIMIT))
        theirs, version = greeting.get("nonce"), greeting.get("version")
        if greeting.get("protocol") != PROTOCOL or not (isinstance(theirs, str) and len(theirs) == len(own)):
            raise WireError("it does not speak this protocol")
        if version != VERSION:
            raise WireError(f"it speaks protocol version {version!r}, this node version {VERSION}")
        salt = (own + theirs if main else theirs + own).encode()
        to_node = hkdf(key, salt=salt, info=b"mnp/v1/main-to-node")
        to_main = hkdf(key, salt=salt, info=b"mnp/v1/node-to-main")
        return Channel(reader, writer, (to_node, to_main) if main else (to_main, to_node))

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message. Raises WireError if the peer is gone."""
        body = _encode(message)
        mac = _mac(self._send_key, self._sent, body)
        self._sent += 1
        _write(self._writer, mac + body)
        await _drain(self._writer)

    async def receive(self) -> dict[str, Any]:
        """The next message. Raises WireError if the peer is gone or the frame is not authentic."""
        frame = await _read(self._reader, FRAME_LIMIT)
        mac, body = frame[:_MAC_BYTES], frame[_MAC_BYTES:]
        if not hmac.compare_digest(mac, _mac(self._receive_key, self._received, body)):
            raise WireError("its message is not authentic: MNP_SECRET, job or attempt differ")
        self._received += 1
        return _decode(body)

    def close(self) -> None:
        """Close the connection; what was sent is still delivered."""
        self._writer.close()


def peer_name(writer: asyncio.StreamWriter) -> str:
    """The peer's address and port, for messages."""
    peer = writer.get_extra_info("peername")
    return f"{peer[0]}:{peer[1]}" if peer else "an unknown peer"


def _mac(key: bytes, sequence: int, body: bytes) -> bytes:
    return hmac.new(key, sequence.to_bytes(8, "big") + body, hashlib.sha256).digest()


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def _decode(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise WireError("it sent something that is not JSON") from None
    if not isinstance(message, dict):
        raise WireError("it sent JSON that is not an object")
    return message


def _write(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(4, "big") + frame)


async def _drain(writer: asyncio.StreamWriter) -> None:
    try:
        await writer.drain()
    except OSError as error:
        raise WireError(f"the connection is lost: {error}") from None


async def _read(reader: asyncio.StreamReader, limit: int) -> bytes:
    try:
        size = int.from_bytes(await reader.readexactly(4), "big")
        if size > limit:
            raise WireError(f"it announced {size} bytes, more than the {limit} allowed")
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise WireError("it closed the connection") from None
    except OSError as error:
        raise WireError(f"the connection is lost: {error}") from None
