"""How a node is kept apart from the others: what differs between nodes that share one machine.

Loopback only, for now: every node has the address 127.0.0.1, the machine's host name and /dev/shm. A `netns`
isolation (own address, host name, /dev/shm and process namespace per node) fits the same interface.
"""

from __future__ import annotations

import socket
from typing import Protocol


class Isolation(Protocol):
    """Where a job's nodes run."""

    def addresses(self, job_id: str, nodes: int) -> list[str]:
        """Set up places for a job's nodes and return their IPv4 addresses, by node index."""
        ...

    def command(self, job_id: str, index: int, command: list[str]) -> list[str]:
        """Return the command that runs `command` in a node's place."""
        ...

    def environment(self, job_id: str, index: int) -> dict[str, str]:
        """Return variables that a node needs because of where it runs."""
        ...

    def endpoint_url(self, endpoint_url: str) -> str:
        """Return the server's address as a node sees it."""
        ...

    def release(self, job_id: str) -> None:
        """Take a job's places away."""
        ...


class Loopback:
    """All nodes are processes of this machine at 127.0.0.1; each job gets a free rendezvous port of its own."""

    def __init__(self) -> None:
        self._ports: dict[str, int] = {}

    def addresses(self, job_id: str, nodes: int) -> list[str]:
        self._ports[job_id] = _free_port()
        return ["127.0.0.1"] * nodes

    def command(self, job_id: str, index: int, command: list[str]) -> list[str]:
        del job_id, index
        return command

    def environment(self, job_id: str, index: int) -> dict[str, str]:
        del index
        return {"MNP_RENDEZVOUS_PORT": str(self._ports[job_id])}

    def endpoint_url(self, endpoint_url: str) -> str:
        return endpoint_url

    def release(self, job_id: str) -> None:
        self._ports.pop(job_id, None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
