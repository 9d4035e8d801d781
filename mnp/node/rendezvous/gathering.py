"""The main node's side of the rendezvous: let the job's nodes in, and nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from typing import TYPE_CHECKING, Any

from .. import network
from ..card import Card
from ..progress import Arrival, announce, say
from . import equality
from .assembly import Assembly, RendezvousError, tell
from .lobby import Drops, Lobby, Visitor
from .roster import Roster
from .wire import GREETING_LIMIT, Channel, WireError, within

if TYPE_CHECKING:
    from ..identity import Identity
    from .assembly import Event

GREETING_TIMEOUT = 10.0  # seconds a peer has to show who it is
_CARD_LIMIT = 64 * 2**10  # bytes; a card with 8 GPUs and 32 EFA devices takes 1 KiB
_BACKLOG = 4096  # connections the kernel completes before we accept; it allows at most net.core.somaxconn
_RECEIVE_BUFFER = 16 * 2**10  # bytes a peer may send ahead of what the main node has read
_SPARE_PLACES = 256  # connections that may wait beside those of all nodes to show who they are
_SPARE_FILES = 64  # file descriptors for all else that this process opens
_ACCEPT_PAUSE = 0.01  # seconds after the system refused to accept a connection


class Gathering:
    """The nodes that have come so far. `gather` returns when all are there."""

    def __init__(self, identity: Identity, card: Card, key: bytes, *, refuse_unequal: bool) -> None:
        self._identity = identity
        self._key = key
        self._refuse_unequal = refuse_unequal
        self._cards = {identity.index: card}
        self._channels: dict[int, Channel] = {}
        self._inbox: asyncio.Queue[Event] = asyncio.Queue()
        self._connections: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()  # all are here, or the rendezvous is refused
        self._refusal: RendezvousError | None = None
        self._drops = Drops()
        self._lobby = Lobby(identity.count + _SPARE_PLACES, GREETING_TIMEOUT)

    async def gather(self, seconds: float) -> Assembly:
        """All nodes. Raises RendezvousError, which is told to those present, after so many seconds at the latest."""
        identity = self._identity
        await self._receive_visitors(seconds)
        refusal = self._refusal or self._unequal()
        if refusal:
            await tell(self._channels.values(), {"type": "refused", "cause": str(refusal)})
            self._disconnect()
            raise refusal
        cards = tuple(self._cards[index] for index in range(identity.count))
        roster = Roster(cards, identity.index, network.free_port())
        assembly = Assembly(identity, roster, self._channels, self._inbox, self._connections)
        await assembly.tell_all(roster.as_message())
        return assembly

    async def _receive_visitors(self, seconds: float) -> None:
        """Listen until all are here, one thing refuses the job, or the time is up."""
        identity = self._identity
        listener = _listen(identity, identity.count + _SPARE_PLACES)
        accepting = asyncio.ensure_future(self._accept(listener))
        announce(Arrival(1, identity.count, identity.index, identity.address))
        try:
            await within(seconds, self._over.wait())
        except TimeoutError:
            self._refusal = self._missing(seconds)
        except BaseException:
            self._disconnect()
            raise
        finally:
            self._over.set()
            accepting.cancel()
            # Its end takes the listening socket out of the event loop, which has to come before the socket's own.
            await asyncio.wait({accepting})
            listener.close()
            self._lobby.close()
            self._drops.tell()

    def _disconnect(self) -> None:
        for connection in tuple(self._connections):
            connection.cancel()

    def _missing(self, seconds: float) -> RendezvousError:
        missing = [index for index in range(self._identity.count) if index not in self._cards]
        plural = "nodes" if len(missing) > 1 else "node"
        cause = (
            f"{plural} {_ranges(missing)} of {self._identity.count} did not come to the rendezvous within {seconds:g} s"
        )
        dropped = self._drops.summary()
        return RendezvousError(f"{cause}; dropped connections: {dropped}" if dropped else cause, missing[0])

    def _unequal(self) -> RendezvousError | None:
        """Say what differs between the nodes; the refusal, if one difference calls for it."""
        found = equality.differences([self._cards[index] for index in sorted(self._cards)])
        grave = [difference for difference in found if difference.refuses and self._refuse_unequal]
        for difference in found:
            if difference not in grave:
                say(f"warning: nodes differ in {difference.message}")
        if not grave:
            return None
        causes = "; ".join(difference.message for difference in grave)
        return RendezvousError(f"nodes differ in {causes} ({equality.VARIABLE}=warn lets them run)", grave[0].node)

    async def _accept(self, listener: socket.socket) -> None:
        """Take connections for ever. A server of asyncio's would log each of thousands that the system refuses."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:  # most likely no file descriptor is left
                cause = f"no more connections can be accepted: {error.strerror}"
                if not self._lobby.make_room(cause):
                    self._drops.note("a connection", cause)
                await asyncio.sleep(_ACCEPT_PAUSE)
                continue
            try:
                reader, writer = await _streams(connection)
            except OSError:
                connection.close()
                continue
            self._begin(reader, writer)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitor = self._lobby.enter(writer)

        def end(task: asyncio.Task[None]) -> None:
            self._connections.discard(task)
            visitor.leave()
            writer.close()

        task = asyncio.ensure_future(self._serve(reader, writer, visitor))
        self._connections.add(task)
        task.add_done_callback(end)  # runs also where the task is cancelled before it has begun

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, visitor: Visitor) -> None:
        try:
            channel, card = await self._introduce(reader, writer)
            visitor.leave()
            await self._admit(channel, card)
            await self._attend(channel, card.index)
        except (WireError, OSError) as error:
            cause = str(error) if visitor.dropped_for is None else visitor.dropped_for
            if cause:
                self._drops.note(visitor.peer, cause)

    async def _introduce(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[Channel, Card]:
        channel = await Channel.open(reader, writer, self._key, main=True)
        self._check_claims(channel)
        await channel.receive(GREETING_LIMIT)  # any message proves that it holds the key
        await channel.send({"type": "welcome"})
        message = await channel.receive(_CARD_LIMIT)
        try:
            return channel, Card.from_document(message["card"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise WireError(f"its card is not readable: {error}") from None

    def _check_claims(self, channel: Channel) -> None:
        """Name a node of another job or attempt, whose key is another one. Raises WireError."""
        own = claims(self._identity)
        theirs = {name: channel.claims.get(name) for name in own}
        if (theirs["job"], theirs["attempt"]) != (own["job"], own["attempt"]):
            seen = f"node {theirs['node']!r} of job {theirs['job']!r}, attempt {theirs['attempt']!r}"
            raise WireError(f"it says it is {seen}; this is job {own['job']!r}, attempt {own['attempt']}")

    async def _admit(self, channel: Channel, card: Card) -> None:
        earlier = self._channels.get(card.index)
        cause = ""
        if card.index not in range(self._identity.count):
            cause = f"it says it is node {card.index} of {self._identity.count}"
        elif self._over.is_set():
            cause = "the rendezvous is over"
        elif card.index in self._cards and card.address != self._cards[card.index].address:
            cause = f"two nodes say they are node {card.index}: {self._cards[card.index].address} and {card.address}"
            self._refusal = RendezvousError(cause, card.index)
            self._over.set()
        elif card.index == self._identity.index:
            cause = f"it says it is node {card.index}, which is the main node"
        if cause:
            await channel.send({"type": "refused", "cause": cause})
            raise WireError(cause)
        self._cards[card.index], self._channels[card.index] = card, channel
        if earlier:
            say(f"rendezvous: node {card.index} ({card.address}) came again; its earlier connection is closed")
            await tell([earlier], {"type": "refused", "cause": f"node {card.index} came again from {channel.peer}"})
            earlier.close()
            return
        announce(Arrival(len(self._cards), self._identity.count, card.index, card.address))
        if len(self._cards) == self._identity.count:
            self._over.set()

    async def _attend(self, channel: Channel, index: int) -> None:
        """Bring what the node says to the inbox, until its connection is lost."""
        try:
            while True:
                await self._inbox.put((index, await channel.receive()))
        except WireError as error:
            if self._channels.get(index) is not channel:
                return  # it came again, by another connection
            if self._over.is_set():
                await self._inbox.put((index, None))
                return
            say(f"rendezvous: node {index} ({channel.peer}) went away again: {error}")
            del self._cards[index], self._channels[index]


async def _streams(connection: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=GREETING_LIMIT)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def claims(identity: Identity) -> dict[str, Any]:
    """What a node says it is before it has proved it, so that the main node can name it."""
    return {"job": identity.job_id, "attempt": identity.attempt, "node": identity.index}


def _ranges(numbers: list[int]) -> str:
    """Ascending numbers in short: 1, 3-5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("-".join(str(end) for end in run) for run in runs)


def _listen(identity: Identity, connections: int) -> socket.socket:
    """The main node's listening socket. Raises RendezvousError."""
    _allow_files(connections + _SPARE_FILES)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        listener.bind((identity.address, identity.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        advice = "set MNP_RENDEZVOUS_PORT to a free port, the same on all nodes"
        cause = f"cannot listen on {identity.address}:{identity.port}: {error.strerror or error}; {advice}"
        raise RendezvousError(cause, identity.index) from None
    return listener


def _allow_files(number: int) -> None:
    """Let this process open so many files at once, as far as its hard limit goes.

    Containers often start with 1,024, which the connections of a thousand nodes alone would use up.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
