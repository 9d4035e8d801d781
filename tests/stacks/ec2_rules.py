"""What EC2 and Batch accept of nodes with EFA, asked of templates: written apart from the code that makes them.

EC2's rules: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html and RunInstances in the API
reference; Batch's: https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html and mnp-ce.html, checked
2026-11-21.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from email import message_from_bytes
from typing import Any

from mnp.cluster.instance_types import InstanceType

USER_DATA_BYTES = 16 * 1024
Properties = dict[str, Any]


def broken_rules(template: Properties, environment: Properties, instance: InstanceType) -> list[str]:
    """The rules that a launch template's data and its compute environment break, for nodes of this type."""
    return [
        *_interfaces(template["NetworkInterfaces"], instance),
        *_launch_template(template),
        *_environment(environment, instance),
        *_capacity(template, environment, instance),
    ]


def _interfaces(interfaces: list[Properties], instance: InstanceType) -> Iterator[str]:
    places = [(each["NetworkCardIndex"], each["DeviceIndex"]) for each in interfaces]
    efa = Counter(each["NetworkCardIndex"] for each in interfaces if each["InterfaceType"] != "interface")
    cards = {card.index: card for card in instance.network_cards}
    yield from _broken(
        {
            "the primary interface is card 0, device 0, and has an IP address": places[0] == (0, 0)
            and interfaces[0]["InterfaceType"] != "efa-only",
            "a place on a card is taken once": len(set(places)) == len(places),
            "a device index is below the card's number of interfaces": all(
                device < cards[card].maximum_network_interfaces for card, device in places
            ),
            "a card takes the kind of interface it is given": all(
                each["InterfaceType"] in cards[each["NetworkCardIndex"]].interface_types for each in interfaces
            ),
            "every EFA card has one EFA, and no card two": efa
            == Counter(card.index for card in cards.values() if card.takes_efa),
            "the node has all the EFAs of its type": efa.total() == instance.maximum_efa_interfaces,
            "card 0 has a place left for the interface of the task": sum(card == 0 for card, _ in places)
            < cards[0].maximum_network_interfaces,
            "all interfaces have the same groups": len({str(each["Groups"]) for each in interfaces}) == 1,
            "interfaces go with their instance": all(each["DeleteOnTermination"] is True for each in interfaces),
            "no public address with several interfaces, and the subnet is Batch's to choose": not any(
                {"AssociatePublicIpAddress", "SubnetId"} & each.keys() for each in interfaces
            ),
        }
    )


def _launch_template(template: Properties) -> Iterator[str]:
    user_data = base64.b64decode(template["UserData"])
    elsewhere = {"SecurityGroupIds", "InstanceType", "Placement", "IamInstanceProfile"}
    yield from _broken(
        {
            "groups stand on the interfaces; type, placement and role are the environment's": not elsewhere
            & template.keys(),
            "instance metadata takes tokens only": template["MetadataOptions"]["HttpTokens"] == "required",
            "user data is MIME multipart": message_from_bytes(user_data).is_multipart(),
            "user data has at most 16 KiB": len(user_data) <= USER_DATA_BYTES,
        }
    )


def _environment(environment: Properties, instance: InstanceType) -> Iterator[str]:
    resources = environment["ComputeResources"]
    yield from _broken(
        {
            "multi-node parallel jobs need a managed environment": environment["Type"] == "MANAGED",
            "multi-node parallel jobs run on no Spot instance and not on Fargate": resources["Type"] == "EC2",
            "an environment names no groups beside interfaces in the launch template": "SecurityGroupIds"
            not in resources,
            "one instance type": resources["InstanceTypes"] == [instance.name],
            "one subnet": len(resources["Subnets"]) == 1,
            "room for whole nodes": resources["MaxvCpus"] % instance.vcpus == 0,
            "no node is kept": resources["MinvCpus"] == 0,
        }
    )


def _capacity(template: Properties, environment: Properties, instance: InstanceType) -> Iterator[str]:
    resources = environment["ComputeResources"]
    reservation = template.get("CapacityReservationSpecification", {})
    from_block = template.get("InstanceMarketOptions", {}).get("MarketType") == "capacity-block"
    both = {"CapacityReservationPreference", "CapacityReservationTarget"}
    yield from _broken(
        {
            "a preference or a target, never both": not both <= reservation.keys(),
            "a capacity block, and nothing else, goes with BEST_FIT": from_block
            == (resources["AllocationStrategy"] == "BEST_FIT"),
            "a capacity block is targeted": not from_block or "CapacityReservationTarget" in reservation,
            "a capacity block places its instances itself": not (from_block and "PlacementGroup" in resources),
            "the type is sold in capacity blocks": instance.capacity_block or not from_block,
            "an environment is updated in place, unless it is a block's": environment["ReplaceComputeEnvironment"]
            is from_block,
        }
    )


def _broken(rules: dict[str, bool]) -> Iterator[str]:
    return (rule for rule, kept in rules.items() if not kept)
