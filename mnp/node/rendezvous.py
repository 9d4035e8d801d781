"""How the nodes of a job find each other.

The main node listens; each other node connects, sends its card and gets the roster. The connections stay open
afterwards: what comes over them, and their loss, ends up in the assembly's inbox for supervision.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import network
from .card import Card
from .progress import Arrival, announce, say
from .wire import Channel, WireError, peer_name, within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .identity import Identity

    Event = tuple[int, dict[str, Any] | None]  # a node's message, or None: its connection is lost

DEFAULT_TIMEOUT = 600.0  # seconds
GREETING_TIMEOUT = 10.0  # seconds a peer has to show who it is
_ROSTER_GRACE = 30.0  # seconds the others wait longer than the main node, whose word on who is missing is better
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between attempts to connect

_SEND_TIMEOUT = 10.0  # seconds a peer may leave its receive buffer full


class RendezvousError(Exception):
    """The nodes did not come together. `node` is the index of the one at fault, if it is known."""

    def __init__(self, cause: str, node: int | None = None) -> None:
        super().__init__(cause)
        self.node = node


@dataclass(frozen=True)
class Roster:
    """All nodes by index, and the port of the main node that the framework may use as MASTER_PORT."""

    cards: tuple[Card, ...]
    main_index: int
    master_port: int

    def rank(self, index: int) -> int:
        """The node's rank: the main node is 0, the others follow by index."""
        order = [self.main_index, *(card.index for card in self.cards if card.index != self.main_index)]
        return order.index(index)

    def as_message(self) -> dict[str, Any]:
        """The roster as the main node sends it."""
        cards = [card.as_document() for card in self.cards]
        return {"type": "roster", "cards": cards, "main_index": self.main_index, "master_port": self.master_port}

    @staticmethod
    def from_message(message: dict[str, Any]) -> Roster:
        """The roster of a message."""
        cards = tuple(Card.from_document(card) for card in message["cards"])
        return Roster(cards, int(message["main_index"]), int(message["master_port"]))


@dataclass
class Assembly:
    """The nodes that have come together, seen from one of them."""

    identity: Identity
    roster: Roster
    channels: dict[int, Channel] = field(default_factory=dict)
    inbox: asyncio.Queue[Event] = field(default_factory=asyncio.Queue)
    readers: set[asyncio.Task[None]] = field(default_factory=set)

    async def tell_all(self, message: dict[str, Any]) -> None:
        """Send the message to every connected node; one that is gone shows in the inbox."""
        await _tell(self.channels.values(), message)

    def close(self) -> None:
        """Close all connections."""
        for reader in tuple(self.readers):
            reader.cancel()
        for channel in self.channels.values():
            channel.close()


async def _tell(channels: Iterable[Channel], message: dict[str, Any]) -> None:
    sending = [within(_SEND_TIMEOUT, channel.send(message)) for channel in channels]
    for failure in await asyncio.gather(*sending, return_exceptions=True):
        if failure is not None and not isinstance(failure, (WireError, OSError)):
            raise failure


async def assemble(identity: Identity, card: Card, key: bytes | None, seconds: float = DEFAULT_TIMEOUT) -> Assembly:
    """All nodes of the job, once they are there. Raises RendezvousError after so many seconds at the latest."""
    if identity.count == 1:
        announce(Arrival(1, 1, identity.index, identity.address))
        return Assembly(identity, Roster((card,), identity.index, network.free_port()))
    if key is None:
        raise RendezvousError(
            "MNP_SECRET is not set: nodes that cannot prove who they are do not form a cluster;"
            " give the job definition the cluster's secret",
            identity.index,
        )
    if identity.is_main:
        return await _Main(identity, card, key).gather(seconds)
    return await _join(identity, card, key, seconds)


class _Main:
    """The main node's side."""

    def __init__(self, identity: Identity, card: Card, key: bytes) -> None:
        self._identity = identity
        self._key = key
        self._cards = {identity.index: card}
        self._channels: dict[int, Channel] = {}
        self._inbox: asyncio.Queue[Event] = asyncio.Queue()
        self._connections: set[asyncio.Task[None]] = set()
        self._complete = asyncio.Event()

    async def gather(self, seconds: float) -> Assembly:
        identity = self._identity
        try:
            server = await asyncio.start_server(self._accept, identity.address, identity.port, backlog=1024)
        except OSError as error:
            cause = f"cannot listen on {identity.address}:{identity.port}: {error.strerror or error}"
            raise RendezvousError(cause, identity.index) from None
        announce(Arrival(1, identity.count, identity.index, identity.address))
        try:
            await within(seconds, self._complete.wait())
        except TimeoutError:
            raise await self._refuse_all(seconds) from None
        finally:
            server.close()
            if not self._complete.is_set():
                for connection in tuple(self._connections):
                    connection.cancel()
        cards = tuple(self._cards[index] for index in sorted(self._cards))
        roster = Roster(cards, identity.index, network.free_port())
        assembly = Assembly(identity, roster, self._channels, self._inbox, self._connections)
        await assembly.tell_all(roster.as_message())
        return assembly

    async def _refuse_all(self, seconds: float) -> RendezvousError:
        missing = [index for index in range(self._identity.count) if index not in self._cards]
        names = ", ".join(str(index) for index in missing)
        plural = "nodes" if len(missing) > 1 else "node"
        cause = f"{plural} {names} of {self._identity.count} did not come to the rendezvous within {seconds:g} s"
        await _tell(self._channels.values(), {"type": "refused", "cause": cause})
        return RendezvousError(cause, missing[0])

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: before Python 3.12 the one that asyncio makes logs an error when it is cancelled.
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            channel, card = await within(GREETING_TIMEOUT, self._introduce(reader, writer))
            await self._admit(channel, card)
            await self._listen(channel, card.index)
        except (WireError, TimeoutError) as error:
            say(f"rendezvous: dropped {peer_name(writer)}: {error}")
        finally:
            writer.close()

    async def _introduce(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[Channel, Card]:
        channel = await Channel.open(reader, writer, self._key, main=True)
        await channel.send({"type": "welcome"})
        message = await channel.receive()
        try:
            return channel, Card.from_document(message["card"])
        except (KeyError, TypeError, ValueError) as error:
            raise WireError(f"its card is not readable: {error}") from None

    async def _admit(self, channel: Channel, card: Card) -> None:
        cause = ""
        if card.index not in range(self._identity.count):
            cause = f"it says it is node {card.index} of {self._identity.count}"
        elif card.index in self._cards:
            cause = f"node {card.index} is here already, from {self._cards[card.index].address}"
        elif self._complete.is_set():
            cause = "the rendezvous is over"
        if cause:
            await channel.send({"type": "refused", "cause": cause})
            raise WireError(cause)
        self._cards[card.index] = card
        self._channels[card.index] = channel
        announce(Arrival(len(self._cards), self._identity.count, card.index, card.address))
        if len(self._cards) == self._identity.count:
            self._complete.set()

    async def _listen(self, channel: Channel, index: int) -> None:
        try:
            while True:
                await self._inbox.put((index, await channel.receive()))
        except WireError as error:
            if self._complete.is_set():
                await self._inbox.put((index, None))
                return
            say(f"rendezvous: node {index} ({channel.peer}) went away again: {error}")
            del self._cards[index], self._channels[index]


async def _join(identity: Identity, card: Card, key: bytes, seconds: float) -> Assembly:
    """The other nodes' side: try to reach the main node until the time is up."""
    loop = asyncio.get_running_loop()
    deadline, pause, failure = loop.time() + seconds, _FIRST_PAUSE, "not tried"
    main = f"main node {identity.main_index} at {identity.main_address}:{identity.port}"
    while loop.time() < deadline:
        try:
            channel = await within(GREETING_TIMEOUT, _connect(identity, card, key))
            message = await _await_roster(channel, deadline - loop.time() + _ROSTER_GRACE)
        except (WireError, OSError) as error:  # noqa: PERF203 -- each try is one connection
            failure = str(error) or type(error).__name__
            jittered = pause * random.uniform(0.5, 1)  # noqa: S311 - spreads the nodes, guards nothing
            await asyncio.sleep(min(jittered, max(0, deadline - loop.time())))
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return _attend(identity, channel, message)
    raise RendezvousError(f"{main} could not be reached within {seconds:g} s: {failure}", identity.main_index)


async def _await_roster(channel: Channel, seconds: float) -> dict[str, Any]:
    try:
        return await within(seconds, channel.receive())
    except BaseException:
        channel.close()
        raise


async def _connect(identity: Identity, card: Card, key: bytes) -> Channel:
    reader, writer = await asyncio.open_connection(identity.main_address, identity.port)
    try:
        channel = await Channel.open(reader, writer, key, main=False)
        await channel.receive()  # the welcome: proof that the main node holds the key, before the card is shown
        await channel.send({"type": "card", "card": card.as_document()})
    except BaseException:
        writer.close()
        raise
    return channel


def _attend(identity: Identity, channel: Channel, message: dict[str, Any]) -> Assembly:
    if message.get("type") != "roster":
        channel.close()
        cause = message.get("cause", f"unexpected message {message.get('type')!r}")
        raise RendezvousError(f"the main node ended the rendezvous: {cause}")
    assembly = Assembly(identity, Roster.from_message(message), {identity.main_index: channel})
    assembly.readers.add(asyncio.ensure_future(_listen_to_main(assembly, channel)))
    return assembly


async def _listen_to_main(assembly: Assembly, channel: Channel) -> None:
    index = assembly.identity.main_index
    try:
        while True:
            await assembly.inbox.put((index, await channel.receive()))
    except WireError:
        await assembly.inbox.put((index, None))
