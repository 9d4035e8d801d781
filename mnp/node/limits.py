"""How long the parts of a job may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds in seconds.

    `rendezvous` for all nodes to come; from then on one that was not heard from for `heartbeat` is lost; `grace` from
    SIGTERM to SIGKILL, half of what AWS Batch gives a container; `linger` to wait for the other nodes after the main
    node's process ended well; `settle` to wait for more reports before a failure is named, since one death makes all
    other processes fail too.
    """

    rendezvous: float = 600.0
    heartbeat: float = 10.0
    grace: float = 15.0
    linger: float = 120.0
    settle: float = 1.0
