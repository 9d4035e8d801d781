"""Which network interfaces a node gets: one function from the instance type to the list.

EC2's rules, from https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html and the API
reference of RunInstances (checked 2026-11-21): the primary interface is network card 0, device 0, and is never
`efa-only`; a network card takes one EFA; EFAs are attached at launch; an `efa-only` interface has no IP address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mnp.cluster.instance_types import InstanceType

Layout = Literal["shared", "separate", "efa"]
InterfaceType = Literal["interface", "efa", "efa-only"]


@dataclass(frozen=True, slots=True)
class NetworkInterface:
    network_card_index: int
    device_index: int
    interface_type: InterfaceType


def network_interfaces(instance_type: InstanceType, layout: Layout) -> tuple[NetworkInterface, ...]:
    """The interfaces of one node, the primary first.

    `shared`: card 0 carries IP and EFA on one interface; every other EFA card is `efa-only`. Leaves a place on
    card 0 for the interface that ECS attaches for the task, even where card 0 has just two (p5, p5e).
    `separate`: EC2's present recommendation; IP and EFA on card 0 are two interfaces.
    `efa`: IP and EFA together on every card, as in AWS's own Batch samples; one IP address per card.

    A card 0 that takes no EFA (p6-b300) gets a plain interface in every layout.
    """
    first, *others = instance_type.network_cards
    rest: InterfaceType = "efa" if layout == "efa" else "efa-only"
    return (
        *_first_card(takes_efa=first.takes_efa, layout=layout),
        *(NetworkInterface(card.index, 0, rest) for card in others if card.takes_efa),
    )


def _first_card(*, takes_efa: bool, layout: Layout) -> tuple[NetworkInterface, ...]:
    if not takes_efa:
        return (NetworkInterface(0, 0, "interface"),)
    if layout == "separate":
        return (NetworkInterface(0, 0, "interface"), NetworkInterface(0, 1, "efa-only"))
    return (NetworkInterface(0, 0, "efa"),)


def efa_devices(interfaces: Sequence[NetworkInterface]) -> int:
    return sum(interface.interface_type != "interface" for interface in interfaces)


def addresses_per_node(interfaces: Sequence[NetworkInterface]) -> int:
    """IPv4 addresses that one node takes: its interfaces that have one, and the task's.

    A multi-node parallel job runs in network mode awsvpc: ECS attaches one more interface for the task
    (https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html, checked 2026-11-21).
    """
    return 1 + sum(interface.interface_type != "efa-only" for interface in interfaces)
