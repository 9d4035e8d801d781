"""What went wrong in a job, and at which node."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..progress import say
from .process_group import SIGNAL_EXIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..rendezvous.assembly import Assembly

SIGTERM_EXIT = SIGNAL_EXIT + signal.SIGTERM
_LAST_SIGNAL = 64


@dataclass(frozen=True)
class Failure:
    """A node failed: its index, what happened, its exit code if it ended with one, and its last lines of output."""

    index: int
    cause: str
    exit_code: int | None = None
    tail: tuple[str, ...] = field(default=(), compare=False)

    @property
    def gone(self) -> bool:
        """Whether the node vanished, or a signal ended its process: then others' errors are consequences."""
        return self.exit_code is None or SIGNAL_EXIT < self.exit_code <= SIGNAL_EXIT + _LAST_SIGNAL


def root_cause(failures: Sequence[Failure]) -> Failure:
    """The failure to name: the first node that vanished or was killed, else the first that failed."""
    return next((failure for failure in failures if failure.gone), failures[0])


def describe(assembly: Assembly, failure: Failure) -> str:
    """The failure in one line that names the node."""
    card = next((card for card in assembly.roster.cards if card.index == failure.index), None)
    return f"node {failure.index} ({card.address if card else 'unknown address'}): {failure.cause}"


def report(assembly: Assembly, failure: Failure) -> None:
    """Write the failure to this node's log: one line, then on the main node what the failed node wrote last."""
    say(f"failed: {describe(assembly, failure)}")
    for line in failure.tail:
        print(f"[node {failure.index}] {line}", flush=True)
