"""The authenticated channel between a node and the main node.

Frames are JSON objects behind a four-byte length. Both ends first greet with a fresh nonce; from these and the
job's key comes a key per direction, and every later frame carries HMAC-SHA256 over its sequence number and the
SHA-256 of its content. So a frame proves that its sender holds the key, and cannot be replayed in another place,
direction, session or job. The frames are authenticated, not encrypted: nothing secret travels.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

PROTOCOL = "mnp"
VERSION = 2
GREETING_LIMIT = 1024  # bytes read from a peer that has proved nothing yet
FRAME_LIMIT = 16 * 2**20  # bytes; the roster of a thousand nodes takes 1 MiB at most, where every node is different

_NONCE_BYTES = 16
_NONCE = re.compile(f"[0-9a-f]{{{2 * _NONCE_BYTES}}}")
_MAC_BYTES = hashlib.sha256().digest_size
_T = TypeVar("_T")


class WireError(Exception):
    """The peer broke the protocol, holds another key or went away."""


class ConnectionClosedError(WireError):
    """The peer closed the connection, or it was lost."""


def derive_key(secret: str, job_id: str, attempt: int) -> bytes:
    """The key of one attempt of one job."""
    return hkdf(secret.encode(), salt=f"{job_id}/{attempt}".encode(), info=b"mnp/v2/job")


def derive_token(key: bytes) -> str:
    """A word of 64 hexadecimal digits for the frameworks of one attempt of one job; it does not betray the key."""
    return hkdf(key, salt=b"", info=b"mnp/v2/token").hex()


def hkdf(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    """32 bytes by HKDF-SHA256 (RFC 5869)."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


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


class Packed(NamedTuple):
    """A message made ready once, to be sent to many."""

    body: bytes
    digest: bytes


def pack(message: Mapping[str, Any]) -> Packed:
    """The message's bytes and their SHA-256, which is the costly part of sending it."""
    body = _encode(message)
    return Packed(body, hashlib.sha256(body).digest())


class Channel:
    """One authenticated connection. `open` greets; then `send` and `receive` exchange JSON objects."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        keys: tuple[bytes, bytes],
        claims: Mapping[str, Any],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._send_key, self._receive_key = keys
        self._sent = 0
        self._received = 0
        self.on_beat: Callable[[dict[str, Any]], None] | None = None
        self.claims = claims  # what the peer's greeting says of it: not authenticated
        self.peer = peer_name(writer)

    @staticmethod
    async def open(
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        key: bytes,
        *,
        main: bool,
        claims: Mapping[str, Any] | None = None,
    ) -> Channel:
        """The channel after the greetings. Raises WireError for a stranger or another protocol version.

        `claims` go with the greeting, before anything is proved.
        """
        own = secrets.token_hex(_NONCE_BYTES)
        own_greeting = _encode({**(claims or {}), "protocol": PROTOCOL, "version": VERSION, "nonce": own})
        # The main node speaks first, so that a node's greeting and its proof travel together.
        if main:
            _write(writer, own_greeting)
        greeting = _decode(await _read(reader, GREETING_LIMIT))
        if not main:
            _write(writer, own_greeting)
        theirs, version = greeting.get("nonce"), greeting.get("version")
        if greeting.get("protocol") != PROTOCOL or not isinstance(version, int):
            raise WireError("it does not speak this protocol")
        if version != VERSION:
            raise WireError(f"it speaks another version of the protocol: {version}, this node {VERSION}")
        if not (isinstance(theirs, str) and _NONCE.fullmatch(theirs) and theirs != own):
            raise WireError("its greeting has no nonce of its own")
        salt = (own + theirs if main else theirs + own).encode()
        to_node = hkdf(key, salt=salt, info=b"mnp/v2/main-to-node")
        to_main = hkdf(key, salt=salt, info=b"mnp/v2/node-to-main")
        return Channel(reader, writer, (to_node, to_main) if main else (to_main, to_node), greeting)

    @property
    def heard(self) -> int:
        """How many authentic messages have come."""
        return self._received

    async def send(self, message: Mapping[str, Any] | Packed) -> None:
        """Send one message. Raises WireError if the peer is gone."""
        self._put(message)
        await self.flush()

    async def flush(self) -> None:
        """Wait until the peer has taken nearly all that was posted. Raises WireError if the peer is gone."""
        await _drain(self._writer)

    def post(self, message: Mapping[str, Any] | Packed) -> None:
        """Send one message as soon as the peer takes it, without waiting; for a peer that may be gone."""
        if not self._writer.transport.is_closing():
            self._put(message)

    def _put(self, message: Mapping[str, Any] | Packed) -> None:
        packed = message if isinstance(message, Packed) else pack(message)
        mac = _mac(self._send_key, self._sent, packed.digest)
        self._sent += 1
        _write(self._writer, mac + packed.body)

    async def receive(self, limit: int = FRAME_LIMIT) -> dict[str, Any]:
        """The next message but for heartbeats, which go to `on_beat`.

        Raises WireError if the peer is gone or the frame is too large or not authentic.
        """
        while True:
            message = await self._take(limit)
            if message.get("type") != "alive":
                return message
            if self.on_beat:
                self.on_beat(message)

    async def _take(self, limit: int) -> dict[str, Any]:
        frame = await _read(self._reader, limit)
        mac, body = frame[:_MAC_BYTES], frame[_MAC_BYTES:]
        if not hmac.compare_digest(mac, _mac(self._receive_key, self._received, hashlib.sha256(body).digest())):
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


def _mac(key: bytes, sequence: int, digest: bytes) -> bytes:
    return hmac.digest(key, sequence.to_bytes(8, "big") + digest, "sha256")


def _encode(message: Mapping[str, Any]) -> bytes:
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
        raise ConnectionClosedError(f"the connection is lost: {error}") from None


async def _read(reader: asyncio.StreamReader, limit: int) -> bytes:
    try:
        size = int.from_bytes(await reader.readexactly(4), "big")
        if size > limit:
            raise WireError(f"it announced {size} bytes, more than the {limit} allowed")
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise ConnectionClosedError("it closed the connection") from None
    except OSError as error:
        raise ConnectionClosedError(f"the connection is lost: {error}") from None
