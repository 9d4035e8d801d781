"""SSH from every node to every node.

Each node makes its own keys, and only public keys travel, over the authenticated channels of the rendezvous. So a
node lets in exactly the job's nodes, and a client talks to exactly the job's nodes.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..rendezvous.exchange import PreparationError, exchange
from .daemon import Daemon
from .files import Peer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from ..rendezvous.assembly import Assembly

_SECONDS = 120.0  # for each of the two steps, on the slowest node; two keys and a daemon take a tenth of a second


@contextlib.asynccontextmanager
async def ssh_between_nodes(
    assembly: Assembly, folder: Path, environ: Mapping[str, str], grace: float
) -> AsyncIterator[dict[str, str]]:
    """Every node reaches every other one by `ssh ADDRESS`, while the block lasts.

    Yields the environment, with the job's `ssh` first on PATH; sessions on this node get the same. `folder` must not
    exist yet; it goes with the block, as does what sessions still run then: SIGTERM, `grace` seconds, SIGKILL. Raises
    ExchangeError on all nodes if one node cannot take part.
    """
    daemon = Daemon(folder, assembly.identity.address, environ)

    async def start() -> dict[str, Any]:
        return (await daemon.start()).as_document()

    async def admit() -> dict[str, Any]:
        cards = {card.index: card for card in assembly.roster.cards}
        try:
            peers = [Peer.from_document(document, cards[index].address) for index, document in documents.items()]
        except ValueError as error:
            raise PreparationError(str(error)) from None
        await daemon.admit(peers)
        return {}

    try:
        documents = await exchange(assembly, "ssh keys", start(), _SECONDS)
        await exchange(assembly, "ssh", admit(), _SECONDS)
        yield daemon.environ
    finally:
        await daemon.stop(grace)
