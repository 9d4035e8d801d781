"""What a node knows of itself before it knows the others."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_PORT = 18520


class IdentityError(Exception):
    """The variables do not say who this node is."""


@dataclass(frozen=True)
class Identity:
    """One node of one attempt of one job.

    `address` is this node's IPv4 address in the job's network. `main_address` is where the other nodes find the main
    node: an address, or a name, which each attempt to connect looks up anew, since its address may change meanwhile.
    `port` is where the main node listens for the others.
    """

    job_id: str
    attempt: int
    index: int
    main_index: int
    count: int
    address: str
    main_address: str
    port: int

    @property
    def is_main(self) -> bool:
        """Whether the other nodes report to this one."""
        return self.index == self.main_index
