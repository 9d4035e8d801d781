"""The environment of what a node runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
