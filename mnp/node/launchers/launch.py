"""What a launcher is: a function from the roster to what one node runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..rendezvous.roster import Roster

_LOWEST_PORT, _PORTS = 1024, 65536  # below the lowest a program needs privileges


@dataclass(frozen=True)
class Job:
    """What a launcher is told, on one node. All nodes are there by then.

    `command` is the user's; `processes` the number of its processes on each node; `folder` a folder of the job's own
    on this node, which goes with the job; `interface` the network interface that holds the node's address, if known;
    `token` a word that the job's nodes know and nobody else, for frameworks that let in whoever says it.
    """

    roster: Roster
    index: int
    command: Sequence[str]
    processes: int
    folder: str
    interface: str | None = None
    token: str = ""

    @property
    def rank(self) -> int:
        """This node's rank; the main node's is 0."""
        return self.roster.rank(self.index)

    @property
    def is_main(self) -> bool:
        return self.index == self.roster.main_index

    @property
    def addresses(self) -> list[str]:
        """Every node's address in order of rank: what frameworks are given in place of host names."""
        return [card.address for card in sorted(self.roster.cards, key=lambda card: self.roster.rank(card.index))]

    @property
    def main_address(self) -> str:
        return self.addresses[0]

    @property
    def address(self) -> str:
        return self.addresses[self.rank]

    def port(self, rank: int) -> int:
        """A port of a node that all nodes know, for frameworks whose workers are told of each other's.

        It follows from the main node's, which was free there: nodes that share an address get a port each. That it is
        free on the others too is likely, not certain; where it is not, the framework fails at its start.
        """
        return _LOWEST_PORT + (self.roster.master_port + rank - _LOWEST_PORT) % (_PORTS - _LOWEST_PORT)

    @property
    def hostfile(self) -> str:
        """A line for each node in order of rank, as Open MPI and DeepSpeed read it."""
        return "".join(f"{address} slots={self.processes}\n" for address in self.addresses)


@dataclass(frozen=True)
class Launch:
    """What a node runs.

    `argv` is the node's command line, empty on a node that only serves others' commands (as an MPI node does);
    `environ` the variables that it adds to the node's own; `before` commands that must end well first, in order;
    `after` commands that run at the end, however it came. `files` are written into the job's folder, by name.

    `serves` says that the command is a service for the main node's: it is stopped when that one has ended well, and
    its own end before that is a failure. `awaits_port` is a port of the main node that must be open before a node
    other than the main one starts. `needs_ssh` asks for an SSH daemon on every node first.
    """

    argv: tuple[str, ...]
    environ: dict[str, str] = field(default_factory=dict)
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[tuple[str, ...], ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    serves: bool = False
    awaits_port: int | None = None
    needs_ssh: bool = False


if TYPE_CHECKING:
    Launcher = Callable[[Job], Launch]
