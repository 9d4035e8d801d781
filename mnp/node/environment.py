"""The environment of what a node runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import secret
from .identity import explicit
from .identity.choice import LAUNCHED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What told this node who it is would tell a launch inside of this one the same.
_OURS = {*secret.VARIABLES, *explicit.VARIABLES.values()}


def node_environment(
    inherited: Mapping[str, str], index: int, interface: str | None, other_interfaces: Sequence[str] = ()
) -> dict[str, str]:
    """The environment of every launch on this node: what the user has set stays, the cluster's secret does not.

    gloo and NCCL would otherwise guess an interface; gloo takes the one of the host name, often loopback, and hangs.
    Nothing is set for EFA: FI_PROVIDER, FI_EFA_USE_DEVICE_RDMA, FI_EFA_FORK_SAFE and NCCL_PROTO are for libfabric
    before 1.18 and aws-ofi-nccl before 1.7, and the plugin sets what else it needs:
    https://github.com/aws/aws-ofi-nccl/blob/master/doc/efa-env-var.md (2026-11-21).
    """
    defaults = {"OMP_NUM_THREADS": "1"}
    if interface:
        defaults.update({"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": interface})
        defaults.update(_of_open_mpi(inherited, interface, other_interfaces))
    own = {name: value for name, value in inherited.items() if name not in _OURS}
    return {**defaults, **own, "MNP_NODE_INDEX": str(index), LAUNCHED: "1"}


def _of_open_mpi(inherited: Mapping[str, str], interface: str, others: Sequence[str]) -> dict[str, str]:
    """Open MPI would also use Docker's bridge, which every host has at the same address, and hang.

    For messages between ranks it gets exceptions: it refuses both a list of interfaces and one of exceptions, and many
    images already have exceptions in their openmpi-mca-params.conf. Its daemons get the interface: those of version 4
    by the second variable, those of version 5 by the third.
    """
    chosen = {
        "OMPI_MCA_btl_tcp_if_exclude": ",".join(others),
        "OMPI_MCA_oob_tcp_if_include": interface,
        "PRTE_MCA_prte_if_include": interface,
    }
    return {name: value for name, value in chosen.items() if value and _opposite(name) not in inherited}


def _opposite(name: str) -> str:
    stem, _, kind = name.rpartition("_")
    return f"{stem}_{'exclude' if kind == 'include' else 'include'}"


def processes_of(gpus: Sequence[str]) -> int:
    """One process per GPU of the node, one on a node without GPUs."""
    return max(1, len(gpus))
