"""What EC2 says of every EFA-capable GPU and Trainium instance type: read from instance_types.json.

The file is written by tools/refresh_instance_types.py and names its own source and date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class NetworkCard:
    index: int
    maximum_network_interfaces: int
    interface_types: tuple[str, ...]

    @property
    def takes_efa(self) -> bool:
        return "efa" in self.interface_types


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The accelerators of an instance type, all alike: NVIDIA GPUs (`gpu`) or AWS Trainium devices (`neuron`)."""

    kind: Literal["gpu", "neuron"]
    name: str
    count: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class InstanceType:
    """Facts of one instance type.

    `network_gbps` is the bandwidth of all network cards together, Gbit/s; `usd_per_hour` is None where AWS lists no
    on-demand price.
    """

    name: str
    vcpus: int
    memory_mib: int
    architecture: str
    accelerator: Accelerator
    maximum_efa_interfaces: int
    network_gbps: float
    network_cards: tuple[NetworkCard, ...]
    nvme_gb: int
    capacity_block: bool
    usd_per_hour: float | None
    availability_zones: Mapping[str, tuple[str, ...]]

    @property
    def family(self) -> str:
        return self.name.partition(".")[0]

    @property
    def gpus(self) -> int:
        return self.accelerator.count if self.accelerator.kind == "gpu" else 0

    @property
    def neuron_devices(self) -> int:
        return self.accelerator.count if self.accelerator.kind == "neuron" else 0


@dataclass(frozen=True, slots=True)
class PriceList:
    """Where and when the on-demand prices were listed."""

    region: str
    date: str
    source: str


# Capable by EC2's own word, and yet not for AWS Batch; checked 2026-11-21.
UNSUPPORTED: Mapping[str, str] = MappingProxyType(
    {
        "p3dn.24xlarge": "Batch's GPU image (ECS_AL2023_NVIDIA) excludes the p3 families, and Batch accepts no new"
        " Amazon Linux 2 environment since 2026-06-30",
        "p6e-gb200.36xlarge": "it is an arm64 type, and AWS publishes no arm64 GPU image for ECS and Batch",
        "trn2u.48xlarge": "it is a part of a Trn2 UltraServer, which is sold as a whole, and AWS Batch places none",
        "inf1.24xlarge": "its accelerators are for inference; clusters are made of NVIDIA GPUs or Trainium",
    }
)


def _network_cards(runs: list[dict[str, Any]]) -> tuple[NetworkCard, ...]:
    described = [run for run in runs for _ in range(run["cards"])]
    return tuple(
        NetworkCard(index, card["maximum_network_interfaces"], tuple(card["interface_types"]))
        for index, card in enumerate(described)
    )


def _instance_type(name: str, fact: dict[str, Any]) -> InstanceType:
    return InstanceType(
        name=name,
        vcpus=fact["vcpus"],
        memory_mib=fact["memory_mib"],
        architecture=fact["architecture"],
        accelerator=Accelerator(**fact["accelerator"]),
        maximum_efa_interfaces=fact["maximum_efa_interfaces"],
        network_gbps=fact["network_gbps"],
        network_cards=_network_cards(fact["network_cards"]),
        nvme_gb=sum(disk["count"] * disk["size_gb"] for disk in fact["nvme"]),
        capacity_block=fact["capacity_block"],
        usd_per_hour=fact["usd_per_hour"],
        availability_zones={region: tuple(zones) for region, zones in fact["availability_zones"].items()},
    )


@cache
def _document() -> dict[str, Any]:
    file = resources.files(__package__).joinpath("instance_types.json")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


@cache
def catalogue() -> Mapping[str, InstanceType]:
    """Every instance type that a cluster may have, by name."""
    facts = _document()["instance_types"]
    return MappingProxyType(
        {name: _instance_type(name, fact) for name, fact in facts.items() if name not in UNSUPPORTED}
    )


def price_list() -> PriceList:
    prices = _document()["prices"]
    return PriceList(region=prices["region"], date=prices["date"], source=prices["source"])
