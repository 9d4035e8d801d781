from __future__ import annotations

import typing

import pytest

from mnp.cluster.instance_types import InstanceType, catalogue
from mnp.cluster.interfaces import Layout, addresses_per_node, efa_devices, network_interfaces

LAYOUTS: tuple[Layout, ...] = typing.get_args(Layout)
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_type = pytest.mark.parametrize("instance", catalogue().values(), ids=lambda each: each.name)


@each_type
@each_layout
def test_primary_interface_is_card_0_device_0_and_has_an_address(instance: InstanceType, layout: Layout) -> None:
    """EC2 refuses a primary interface that is elsewhere or efa-only."""
    primary = network_interfaces(instance, layout)[0]
    assert (primary.network_card_index, primary.device_index) == (0, 0)
    assert primary.interface_type != "efa-only"


@each_type
@each_layout
def test_every_efa_card_has_exactly_one_efa(instance: InstanceType, layout: Layout) -> None:
    """The node gets all the fabric that it is paid for, and no card two EFAs."""
    interfaces = network_interfaces(instance, layout)
    with_efa = [each.network_card_index for each in interfaces if each.interface_type != "interface"]
    assert with_efa == [card.index for card in instance.network_cards if card.takes_efa]
    assert efa_devices(interfaces) == instance.maximum_efa_interfaces


@each_type
@each_layout
def test_no_place_on_a_card_is_taken_twice_or_does_not_exist(instance: InstanceType, layout: Layout) -> None:
    """Device indexes are below the card's limit, and no two interfaces share one."""
    interfaces = network_interfaces(instance, layout)
    places = [(each.network_card_index, each.device_index) for each in interfaces]
    assert len(set(places)) == len(places)
    for card, device in places:
        assert device < instance.network_cards[card].maximum_network_interfaces


@each_type
@each_layout
def test_each_card_takes_the_kind_of_interface_it_gets(instance: InstanceType, layout: Layout) -> None:
    """A card that takes no EFA, as card 0 of p6-b300, gets a plain interface."""
    for each in network_interfaces(instance, layout):
        assert each.interface_type in instance.network_cards[each.network_card_index].interface_types


@each_type
def test_shared_layout_leaves_a_place_for_the_task_and_takes_two_addresses(instance: InstanceType) -> None:
    """The default layout works under Batch on every type: ECS finds a place on card 0 for the task's interface."""
    interfaces = network_interfaces(instance, "shared")
    on_first_card = sum(each.network_card_index == 0 for each in interfaces)
    assert on_first_card < instance.network_cards[0].maximum_network_interfaces
    assert addresses_per_node(interfaces) == 2


def test_efa_layout_costs_an_address_a_card() -> None:
    """The layout of AWS's own samples takes 33 addresses on a p5 node, and the count says so."""
    assert addresses_per_node(network_interfaces(catalogue()["p5.48xlarge"], "efa")) == 33


def test_separate_layout_fills_card_0_of_p5() -> None:
    """EC2's recommended layout leaves no place for a task's interface on p5, which a rule has to refuse."""
    interfaces = network_interfaces(catalogue()["p5.48xlarge"], "separate")
    assert sum(each.network_card_index == 0 for each in interfaces) == 2
