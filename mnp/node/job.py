"""What `launch` and `smoke` share: bring this node to the rendezvous and run one launch on all nodes."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from . import network, secret
from .card import own_card
from .environment import node_environment, processes_of
from .launchers import Job
from .launchers.awaiting import awaiting
from .progress import say
from .rendezvous import equality, wire
from .rendezvous import join as rendezvous
from .rendezvous.assembly import RendezvousError
from .rendezvous.exchange import ExchangeError
from .ssh import ssh_between_nodes
from .supervision import heartbeat
from .supervision.failure import Failure
from .supervision.supervise import give_up, supervise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .identity import Identity
    from .launchers.launch import Launch, Launcher
    from .limits import Limits
    from .rendezvous.assembly import Assembly


async def assemble(identity: Identity, environ: Mapping[str, str], limits: Limits) -> Assembly:
    """All nodes of the job, which watch each other from then on. Raises RendezvousError."""
    try:
        refuse_unequal = equality.refuses(environ)
    except equality.EqualityError as error:
        raise RendezvousError(str(error), identity.index) from None
    try:
        shared = secret.read(environ)
    except secret.SecretError as error:
        raise RendezvousError(str(error), identity.index) from None
    key = wire.derive_key(shared, identity.job_id, identity.attempt) if shared else None
    card = own_card(identity.index, identity.address)
    assembly = await rendezvous.assemble(identity, card, key, limits.rendezvous, refuse_unequal=refuse_unequal)
    assembly.token = wire.derive_token(key) if key else secrets.token_hex()
    heartbeat.start(assembly, limits.heartbeat)
    return assembly


async def run_everywhere(
    assembly: Assembly,
    launcher: Launcher,
    command: Sequence[str],
    environ: Mapping[str, str],
    limits: Limits,
    *,
    processes: int | None = None,
) -> Failure | None:
    """Run the command by the launcher; None once it ended well on all nodes, else what failed."""
    identity, roster = assembly.identity, assembly.roster
    card = next(card for card in roster.cards if card.index == identity.index)
    interface = network.interface_of(identity.address)
    if interface is None:
        say(f"no interface holds {identity.address}: GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME stay as they are")
    try:
        folder = tempfile.mkdtemp(prefix="mnp-job-")
    except OSError as error:
        return give_up(assembly, f"cannot make the job's folder: {error.strerror}")
    try:
        processes = processes or processes_of(card.gpus)
        job = Job(roster, identity.index, command, processes, folder, interface, assembly.token)
        launch = awaiting(launcher(job), job)
        others = network.interfaces_but(interface)
        own = {**node_environment(environ, identity.index, interface, others), **launch.environ}
        return await _run(assembly, launch, Path(folder), own, limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(
    assembly: Assembly, launch: Launch, folder: Path, environ: Mapping[str, str], limits: Limits
) -> Failure | None:
    try:
        for name, text in launch.files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        return give_up(assembly, f"cannot write the job's folder {folder}: {error.strerror}")
    if not launch.needs_ssh:
        return await supervise(assembly, launch, environ, limits)
    try:
        async with ssh_between_nodes(assembly, folder / "ssh", environ, limits.grace) as with_ssh:
            return await supervise(assembly, launch, with_ssh, limits)
    except ExchangeError as error:
        return Failure(error.node, str(error), 1)
