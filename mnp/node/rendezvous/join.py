"""How the nodes of a job find each other.

The main node listens; each other node connects, proves that it holds the job's key, sends its card and gets the
roster. The connections stay open afterwards: what comes over them, and their loss, ends up in the assembly's inbox
for supervision. Nobody else can connect by then.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from .. import network
from ..progress import Arrival, announce
from .assembly import Assembly, RendezvousError
from .gathering import Gathering, claims
from .roster import Roster
from .wire import Channel, ConnectionClosedError, WireError, within

if TYPE_CHECKING:
    from ..card import Card
    from ..identity import Identity

_ANSWER_TIMEOUT = 30.0  # seconds a node waits for the main node's greeting; more, since all may come at once
_ROSTER_GRACE = 30.0  # seconds the others wait longer than the main node, whose word on who is missing is better
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds between attempts to connect


async def assemble(
    identity: Identity,
    card: Card,
    key: bytes | None,
    seconds: float,
    *,
    refuse_unequal: bool = True,
) -> Assembly:
    """All nodes of the job, once they are there. Raises RendezvousError after so many seconds at the latest.

    Nodes of unequal hardware do not come together, unless `refuse_unequal` is false on the main node.
    """
    if identity.count == 1:
        announce(Arrival(1, 1, identity.index, identity.address))
        return Assembly(identity, Roster((card,), identity.index, network.free_port()))
    if key is None:
        raise RendezvousError(
            "MNP_SECRET is not set: nodes that cannot prove who they are do not form a cluster;"
            " give the job definition the cluster's secret; elsewhere than on AWS Batch, give all nodes the same random"
            " one in a file that only you can read, and its path in MNP_SECRET_FILE",
            identity.index,
        )
    if identity.is_main:
        return await Gathering(identity, card, key, refuse_unequal=refuse_unequal).gather(seconds)
    return await _join(identity, card, key, seconds)


async def _join(identity: Identity, card: Card, key: bytes, seconds: float) -> Assembly:
    """The other nodes' side: try to reach the main node until the time is up."""
    loop = asyncio.get_running_loop()
    deadline, pause, failure = loop.time() + seconds, _FIRST_PAUSE, "not tried"
    main = f"main node {identity.main_index} at {identity.main_address}:{identity.port}"
    while loop.time() < deadline:
        try:
            channel = await within(_ANSWER_TIMEOUT, _connect(identity, card, key))
            message = await _await_roster(channel, deadline - loop.time() + _ROSTER_GRACE)
        except (WireError, OSError) as error:  # noqa: PERF203 -- each try is one connection
            failure = str(error) or type(error).__name__
            jittered = pause * random.uniform(0.5, 1)  # noqa: S311 - spreads the nodes, guards nothing
            await asyncio.sleep(min(jittered, max(0, deadline - loop.time())))
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return _enter(identity, channel, message)
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
        channel = await Channel.open(reader, writer, key, main=False, claims=claims(identity))
        await channel.send({"type": "hello"})
        await _welcome(channel)
        await channel.send({"type": "card", "card": card.as_document()})
    except BaseException:
        writer.close()
        raise
    return channel


async def _welcome(channel: Channel) -> None:
    """Wait for the main node's proof that it holds the key, before the card is shown."""
    try:
        await channel.receive()
    except ConnectionClosedError:
        # It tells a stranger nothing, so its silence is the answer to a wrong key.
        raise WireError("it closed the connection at this node's proof: MNP_SECRET, job or attempt differ") from None


def _enter(identity: Identity, channel: Channel, message: dict[str, Any]) -> Assembly:
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
