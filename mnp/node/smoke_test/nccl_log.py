"""What NCCL's log (NCCL_DEBUG=INFO) says about the network that a rank used."""

from __future__ import annotations

import re
from dataclasses import dataclass

# aws-ofi-nccl's line changed over time: "Selected Provider is efa (found 4 nics)", since 1.14 or so "Selected
# provider is efa, fabric is efa-direct (found 16 nics)":
# https://github.com/aws/aws-ofi-nccl/blob/master/src/nccl_ofi_ofiutils.cpp (2026-11-21)
_PROVIDER = re.compile(
    r"NET/OFI Selected provider is ([^\s,]+)(?:, fabric is (\S+))?(?: \(found (\d+) nics\))?", re.IGNORECASE
)
# "Using network AWS Libfabric" / "Using network Socket"; NCCL 2.27 and later: "Assigned NET plugin Socket to comm".
_NETWORK = re.compile(r"NCCL INFO (?:Using network (.+?)|Assigned NET plugin (.+?) to comm)\s*$", re.MULTILINE)
_CHANNEL = re.compile(r"via NET/([^/\n]+)/\d+(\S*)")


@dataclass(frozen=True)
class NcclNetwork:
    """One rank's network; None where the log is silent.

    `network` is NCCL's ("AWS Libfabric", "Libfabric", "Socket", "IB", ...), `provider` and `fabric` are libfabric's,
    `nics` is how many the provider found, `gpu_direct` whether every channel between nodes used GPUDirect RDMA.
    """

    network: str | None = None
    provider: str | None = None
    fabric: str | None = None
    nics: int | None = None
    gpu_direct: bool | None = None


def parse(log: str) -> NcclNetwork:
    """What the log of one rank says."""
    provider = _PROVIDER.search(log)
    channels = _CHANNEL.findall(log)
    network = _NETWORK.search(log)
    name = (network[1] or network[2]) if network else channels[0][0] if channels else None
    return NcclNetwork(
        network=name,
        provider=provider[1].lower() if provider else None,
        fabric=provider[2] if provider else None,
        nics=int(provider[3]) if provider and provider[3] else None,
        gpu_direct=all("GDRDMA" in flags for _, flags in channels) if channels else None,
    )
