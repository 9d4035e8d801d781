"""Every instance type with every layout and every kind of capacity: refused by its key, or what EC2 takes."""

from __future__ import annotations

import itertools
import typing
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from mnp.cluster.instance_types import InstanceType, catalogue
from mnp.cluster.interfaces import Layout, addresses_per_node, network_interfaces
from mnp.cluster.model import Cluster
from mnp.cluster.node_shape import node_shape
from mnp.cluster.rules import check
from stacks.clusters import add_cluster
from stacks.compute_environment import ComputeEnvironment
from tests.stacks.ec2_rules import broken_rules
from tests.synth import P5, new_app, only

pytestmark = pytest.mark.slow

LAYOUTS: tuple[Layout, ...] = typing.get_args(Layout)
CAPACITIES: dict[str, Any] = {
    "on demand": "on_demand",
    "open reservations": "reservations_only",
    "reservation": {"reservation": "cr-0123456789abcdef0"},
    "group": {"reservation": "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"},
    "block": {"capacity_block": "cr-0123456789abcdef0"},
}
NEURON_IMAGE = "public.ecr.aws/neuron/pytorch-training-neuronx:2.5.1"
# CloudFormation takes 500 resources in a stack; a cluster's part here has three at most.
CLUSTERS_PER_STACK = 150

Combination = tuple[str, Layout, str]
COMBINATIONS: list[Combination] = list(itertools.product(sorted(catalogue()), LAYOUTS, CAPACITIES))


def cluster_of(combination: Combination) -> Cluster:
    name, layout, capacity = combination
    content: dict[str, Any] = {"instance_type": name, "network_interfaces": layout, "capacity": CAPACITIES[capacity]}
    if catalogue()[name].neuron_devices:
        content["image"] = NEURON_IMAGE
    return Cluster.model_validate(P5 | content)


def refused_keys(cluster: Cluster) -> set[str]:
    values = {key: getattr(cluster, key) for key in Cluster.model_fields}
    return {problem.key for problem in check(values) if problem.level == "error"}


@pytest.fixture(scope="module")
def synthesised() -> dict[Combination, tuple[dict[str, Any], dict[str, Any]]]:
    """Launch-template data and compute environment of every combination that the rules let through."""
    app = new_app()
    taken = [each for each in COMBINATIONS if not refused_keys(cluster_of(each))]
    places = {}
    for first in range(0, len(taken), CLUSTERS_PER_STACK):
        stack = cdk.Stack(app, f"stack-{first}")
        for each in taken[first : first + CLUSTERS_PER_STACK]:
            made = _compute_environment(stack, each)
            places[each] = [stack.get_logical_id(resource) for resource in (made.launch_template, made.environment)]
    resources = {name: each for stack in app.synth().stacks for name, each in stack.template["Resources"].items()}
    found = {}
    for combination, ids in places.items():
        template, environment = (resources[each]["Properties"] for each in ids)
        found[combination] = template["LaunchTemplateData"], environment
    return found


def _compute_environment(stack: cdk.Stack, combination: Combination) -> ComputeEnvironment:
    return ComputeEnvironment(
        stack,
        " ".join(combination),
        cluster=cluster_of(combination),
        subnet_id="subnet-0123456789abcdef0",
        security_group_id="sg-0123456789abcdef0",
        instance_profile_arn="arn:aws:iam::123456789012:instance-profile/nodes",
        tags={"mnp:cluster": "test"},
    )


@pytest.mark.parametrize("combination", COMBINATIONS, ids=" ".join)
def test_a_combination_is_refused_by_its_key_or_keeps_every_rule(
    combination: Combination, synthesised: dict[Combination, tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    """Nothing that EC2 or Batch would refuse is ever synthesised, and nothing that they take is refused."""
    name, layout, capacity = combination
    instance = catalogue()[name]
    expected = {"capacity"} if capacity == "block" and not instance.capacity_block else set()
    if layout == "separate" and fills_card_0(instance):
        expected |= {"network_interfaces"}
    assert refused_keys(cluster_of(combination)) == expected
    if not expected:
        assert broken_rules(*synthesised[combination], instance) == []


def fills_card_0(instance: InstanceType) -> bool:
    """Whether an interface for IP and one for EFA take all of card 0, and leave none for the task."""
    first = instance.network_cards[0]
    return first.takes_efa and first.maximum_network_interfaces == 2


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_type_makes_whole_stacks(name: str) -> None:
    """From network to contract, the stacks of every type synthesise, and a job there gets the whole of each node."""
    content = {"instance_type": name, "image": NEURON_IMAGE} if catalogue()[name].neuron_devices else {}
    cluster = Cluster.model_validate(P5 | {"instance_type": name} | content)
    template = Template.from_stack(add_cluster(new_app(), cluster, account=None))
    shape = node_shape(catalogue()[name], "shared")
    (node_range,) = only(template, "AWS::Batch::JobDefinition")["NodeProperties"]["NodeRangeProperties"]
    devices = node_range["Container"]["LinuxParameters"]["Devices"]
    assert len(devices) == shape.efa_devices + shape.neuron_devices
    wanted = {each["Type"]: each["Value"] for each in node_range["Container"]["ResourceRequirements"]}
    assert wanted.get("GPU", "0") == str(shape.gpus)
    assert int(wanted["MEMORY"]) < catalogue()[name].memory_mib


class TestTypesThatPeopleGetWrong:
    """The layouts, written out, of types that other tools are known to lay out wrongly."""

    def test_p6_b300_has_a_plain_card_0(self) -> None:
        """EFA on cards 1 to 16, and IP alone on card 0, which takes no EFA."""
        interfaces = laid_out("p6-b300.48xlarge", "shared")
        assert interfaces == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]

    def test_p5_keeps_a_place_for_the_task(self) -> None:
        """32 EFAs, one of two places of card 0, and two addresses a node, the task's included."""
        interfaces = laid_out("p5.48xlarge", "shared")
        assert interfaces == [(0, 0, "efa"), *((card, 0, "efa-only") for card in range(1, 32))]
        assert addresses_per_node(network_interfaces(catalogue()["p5.48xlarge"], "shared")) == 2

    @pytest.mark.parametrize("name", ["g7e.12xlarge", "p5.4xlarge"])
    def test_one_card_has_one_efa(self, name: str) -> None:
        """However many GPUs a type with one card has, it has one EFA."""
        assert laid_out(name, "shared") == [(0, 0, "efa")]
        assert laid_out(name, "separate") == [(0, 0, "interface"), (0, 1, "efa-only")]

    def test_trn1n_has_twice_the_efas_of_trn1(self) -> None:
        """16 cards with an EFA each."""
        assert laid_out("trn1n.32xlarge", "efa") == [(card, 0, "efa") for card in range(16)]
        assert len(laid_out("trn1.32xlarge", "efa")) == 8


def laid_out(name: str, layout: Layout) -> list[tuple[int, int, str]]:
    interfaces = network_interfaces(catalogue()[name], layout)
    return [(each.network_card_index, each.device_index, each.interface_type) for each in interfaces]
