"""What `launch` and `smoke` share: bring this node to the rendezvous and run one launch on all nodes."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from . import network, rendezvous, wire
from .card import own_card
from .environment import node_environment, processes_of
from .launchers import Job
from .progress import say
from .supervise import supervise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .identity import Identity
    from .launchers.launch import Launcher
    from .rendezvous import Assembly
    from .supervise import Failure


async def assemble(identity: Identity, environ: Mapping[str, str], seconds: float) -> Assembly:
    """All nodes of the job, within so many seconds. Raises RendezvousError."""
    secret = environ.get("MNP_SECRET")
    key = wire.derive_key(secret, identity.job_id, identity.attempt) if secret else None
    return await rendezvous.assemble(identity, own_card(identity.index, identity.address), key, seconds)


async def run_everywhere(
    assembly: Assembly,
    launcher: Launcher,
    command: Sequence[str],
    environ: Mapping[str, str],
    processes: int | None = None,
) -> Failure | None:
    """Run the command by the launcher; None once it ended well on all nodes, else what failed."""
    identity, roster = assembly.identity, assembly.roster
    card = next(card for card in roster.cards if card.index == identity.index)
    interface = network.interface_of(identity.address)
    if interface is None:
        say(f"no interface holds {identity.address}: GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME stay as they are")
    with tempfile.TemporaryDirectory(prefix="mnp-job-") as folder:
        processes = processes or processes_of(card.gpus)
        launch = launcher(Job(roster, identity.index, command, processes, folder))
        base = node_environment(environ, identity.index, interface)
        return await supervise(assembly, launch.argv, {**base, **launch.environ})
