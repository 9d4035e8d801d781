from __future__ import annotations

import subprocess
import sys

import pytest

from mnp.cluster.instance_types import UNSUPPORTED, InstanceType, catalogue, price_list
from tests.synth import ROOT

WANTED = [
    ("p4d.24xlarge", 8, 96, 4),
    ("p4de.24xlarge", 8, 96, 4),
    ("p5.4xlarge", 1, 16, 1),
    ("p5.48xlarge", 8, 192, 32),
    ("p5e.48xlarge", 8, 192, 32),
    ("p5en.48xlarge", 8, 192, 16),
    ("p6-b200.48xlarge", 8, 192, 8),
    ("p6-b300.48xlarge", 8, 192, 16),
    ("g4dn.8xlarge", 1, 32, 1),
    ("g5.48xlarge", 8, 192, 1),
    ("g6.8xlarge", 1, 32, 1),
    ("g6e.48xlarge", 8, 192, 4),
    ("g7e.48xlarge", 8, 192, 4),
    ("g7e.12xlarge", 2, 48, 1),
    ("trn1.32xlarge", 16, 128, 8),
    ("trn1n.32xlarge", 16, 128, 16),
    ("trn2.48xlarge", 16, 192, 16),
]


@pytest.mark.parametrize(("name", "accelerators", "vcpus", "efa"), WANTED)
def test_facts_are_those_that_aws_publishes(name: str, accelerators: int, vcpus: int, efa: int) -> None:
    """Accelerators, vCPUs and EFA interfaces of the types that people use are AWS's own figures."""
    found = catalogue()[name]
    assert (found.accelerator.count, found.vcpus, found.maximum_efa_interfaces) == (accelerators, vcpus, efa)


@pytest.mark.parametrize("instance", catalogue().values(), ids=lambda each: each.name)
def test_every_efa_interface_has_a_card_that_takes_it(instance: InstanceType) -> None:
    """A layout that puts one EFA on every card that takes one never asks for more than EC2 gives."""
    assert instance.maximum_efa_interfaces == sum(card.takes_efa for card in instance.network_cards)


@pytest.mark.parametrize("instance", catalogue().values(), ids=lambda each: each.name)
def test_every_type_can_run_an_image_that_aws_keeps_for_ecs(instance: InstanceType) -> None:
    """The catalogue holds only types for which there is an image: x86_64, with NVIDIA GPUs or with Trainium."""
    assert instance.architecture == "x86_64"
    assert (instance.gpus > 0) != (instance.neuron_devices > 0)


def test_types_that_batch_cannot_run_are_left_out() -> None:
    """A type that EC2 sells with EFA and Batch has no image for is not offered."""
    assert not UNSUPPORTED.keys() & catalogue().keys()


def test_first_card_of_p6_b300_takes_no_efa() -> None:
    """p6-b300 has a plain card 0 and sixteen EFA cards after it."""
    cards = catalogue()["p6-b300.48xlarge"].network_cards
    assert [card.takes_efa for card in cards] == [False] + [True] * 16


@pytest.mark.parametrize(
    ("name", "gbps"),
    [("p4d.24xlarge", 400), ("p5.48xlarge", 3200), ("p6-b200.48xlarge", 3200), ("g6e.48xlarge", 400)],
)
def test_bandwidth_is_that_of_the_whole_instance(name: str, gbps: int) -> None:
    """AWS's headline figure, also where EC2's figures per network card add up to another."""
    assert catalogue()[name].network_gbps == gbps


def test_prices_say_where_and_when_they_were_listed() -> None:
    """A price without its date misleads."""
    prices = price_list()
    assert prices.region == "us-east-1"
    assert prices.date >= "2026-07-20"
    assert "Price List" in prices.source


def test_the_file_is_what_its_script_writes() -> None:
    """Nobody has edited the generated file by hand, and the pinned capture still says the same."""
    command = [sys.executable, str(ROOT / "tools" / "refresh_instance_types.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
