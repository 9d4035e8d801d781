"""`launch`: run the user's command on all nodes of the job."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from . import job
from .launchers import LAUNCHERS
from .progress import say
from .rendezvous.assembly import RendezvousError
from .supervision.failure import SIGTERM_EXIT, report
from .supervision.supervise import cancelled_by_signals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .identity import Identity
    from .limits import Limits


async def launch(
    identity: Identity,
    environ: Mapping[str, str],
    launcher: str,
    command: Sequence[str],
    limits: Limits,
    *,
    processes: int | None = None,
) -> int:
    """The exit code for this node: 0 once the command ended well, else the failing process's, 1 if it has none."""
    assembly = None
    with cancelled_by_signals():
        try:
            assembly = await job.assemble(identity, environ, limits)
            failure = await job.run_everywhere(
                assembly, LAUNCHERS[launcher], command, environ, limits, processes=processes
            )
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
    report(assembly, failure)
    return failure.exit_code or 1
