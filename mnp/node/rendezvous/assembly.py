"""The nodes of a job after the rendezvous, seen from one of them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .wire import Channel, WireError, pack, within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..identity import Identity
    from .roster import Roster

    Event = tuple[int, dict[str, Any] | None]  # a node's message, or None: its connection is lost

_SEND_TIMEOUT = 10.0  # seconds a peer may leave its receive buffer full


class RendezvousError(Exception):
    """The nodes did not come together. `node` is the index of the one at fault, if it is known."""

    def __init__(self, cause: str, node: int | None = None) -> None:
        super().__init__(cause)
        self.node = node


@dataclass
class Assembly:
    """The nodes that have come together, seen from one of them; `token` is a word that they know and nobody else."""

    identity: Identity
    roster: Roster
    channels: dict[int, Channel] = field(default_factory=dict)
    inbox: asyncio.Queue[Event] = field(default_factory=asyncio.Queue)
    readers: set[asyncio.Task[None]] = field(default_factory=set)
    token: str = ""

    async def tell_all(self, message: dict[str, Any]) -> None:
        """Send the message to every connected node; one that is gone shows in the inbox."""
        await tell(self.channels.values(), message)

    def post_all(self, message: dict[str, Any]) -> None:
        """Send the message to every connected node without waiting for any."""
        post(self.channels.values(), message)

    def close(self) -> None:
        """Close all connections."""
        for reader in tuple(self.readers):
            reader.cancel()
        for channel in self.channels.values():
            channel.close()


async def tell(channels: Iterable[Channel], message: dict[str, Any]) -> None:
    """Send the message to these; one that is gone, or takes nothing for too long, is passed over."""
    channels = list(channels)
    post(channels, message)
    with contextlib.suppress(TimeoutError):
        await within(_SEND_TIMEOUT, asyncio.gather(*(_flush(channel) for channel in channels)))


def post(channels: Iterable[Channel], message: dict[str, Any]) -> None:
    """Send the message to these without waiting for any."""
    packed = pack(message)
    for channel in channels:
        channel.post(packed)


async def _flush(channel: Channel) -> None:
    with contextlib.suppress(WireError):
        await channel.flush()
