"""`launch`: run the user's command on all nodes of the job."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from . import job
from .launchers import LAUNCHERS
from .progress import say
from .rendezvous import RendezvousError
from .supervise import SIGTERM_EXIT, cancelled_by_signals, describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .identity import Identity


async def launch(
    identity: Identity, environ: Mapping[str, str], launcher: str, command: Sequence[str], rendezvous_seconds: float
) -> int:
    """The exit code for this node: 0 once the command ended well, else the failing process's, 1 if it has none."""
    assembly = None
    with cancelled_by_signals():
        try:
            assembly = await job.assemble(identity, environ, rendezvous_seconds)
            failure = await job.run_everywhere(assembly, LAUNCHERS[launcher], command, environ)
        except RendezvousError as error:
            say(f"failed: {error}")
            return 1
        except asyncio.CancelledError:
            say("failed: the job was stopped (SIGTERM)")
            return SIGTERM_EXIT
        finally:
            if assembly is not None:
                assembly.close()
    if failure is None:
        return 0
    say(f"failed: {describe(assembly, failure)}")
    return failure.exit_code or 1
