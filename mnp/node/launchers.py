"""How each framework is started: from the roster to a command line and environment, one pure function a launcher.

A launcher gets the user's command and returns what this node runs. All nodes are there by then.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .rendezvous import Roster

    Launcher = Callable[[Roster, int, Sequence[str], int], "Launch"]  # roster, index, command, processes


@dataclass(frozen=True)
class Launch:
    """What a node runs: the command line and the variables that it adds to the node's own."""

    argv: tuple[str, ...]
    environ: dict[str, str] = field(default_factory=dict)


def torchrun(roster: Roster, index: int, command: Sequence[str], processes: int) -> Launch:
    """PyTorch's own launcher, static: the main node is node rank 0, the store is at its address."""
    argv = [
        *(sys.executable, "-m", "torch.distributed.run"),
        f"--nnodes={len(roster.cards)}",
        f"--node-rank={roster.rank(index)}",
        f"--nproc-per-node={processes}",
        f"--master-addr={_main_address(roster)}",
        f"--master-port={roster.master_port}",
        *command,
    ]
    return Launch(tuple(argv))


def env(roster: Roster, index: int, command: Sequence[str], processes: int) -> Launch:  # noqa: ARG001 - one per node
    """The command itself, once per node, with torch.distributed's `env://` variables."""
    rank = str(roster.rank(index))
    variables = {
        "RANK": rank,
        "WORLD_SIZE": str(len(roster.cards)),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "NODE_RANK": rank,
        "MASTER_ADDR": _main_address(roster),
        "MASTER_PORT": str(roster.master_port),
    }
    return Launch(tuple(command), variables)


LAUNCHERS: dict[str, Launcher] = {"torchrun": torchrun, "env": env}


def node_environment(inherited: Mapping[str, str], index: int, interface: str | None) -> dict[str, str]:
    """The environment of every launch on this node: what the user has set stays, the cluster's secret does not.

    gloo and NCCL would otherwise guess an interface; gloo takes the one of the host name, often loopback, and hangs.
    """
    defaults = {"OMP_NUM_THREADS": "1"}
    if interface:
        defaults.update({"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": interface})
    own = {name: value for name, value in inherited.items() if name != "MNP_SECRET"}
    return {**defaults, **own, "MNP_NODE_INDEX": str(index)}


def processes_of(gpus: Sequence[str]) -> int:
    """One process per GPU of the node, one on a node without GPUs."""
    return max(1, len(gpus))


def _main_address(roster: Roster) -> str:
    return next(card.address for card in roster.cards if card.index == roster.main_index)
