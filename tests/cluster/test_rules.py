from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest

from mnp.cluster.ami import Bake, PrebakedAmi
from mnp.cluster.capacity import CapacityBlock
from mnp.cluster.instance_types import catalogue
from mnp.cluster.interfaces import network_interfaces
from mnp.cluster.model import DEFAULT_IMAGE
from mnp.cluster.problems import Problem
from mnp.cluster.rules import RULES, check
from mnp.cluster.vpc import ExistingVpc, NewVpc, SharedVpc

BLOCK = CapacityBlock(capacity_block="cr-0123456789abcdef0")
HERE = ExistingVpc(id="vpc-0123456789abcdef0", subnet="subnet-0123456789abcdef0")
ISOLATED = NewVpc(nat_gateway=False, interface_endpoints=True)
PULLED = PrebakedAmi(prebaked=Bake(pull_image=True))
OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1.2"
P5 = {"instance_type": "p5.48xlarge"}


def vpc(cidr: str) -> NewVpc:
    return NewVpc(cidr=IPv4Network(cidr))


def shared(*letters: str, cidr: str = "10.0.0.0/16") -> SharedVpc:
    return SharedVpc(name="ml", cidr=IPv4Network(cidr), zones=tuple(f"us-east-1{letter}" for letter in letters))


# (what is asked, the key that is named, or None where there is nothing to say)
TABLE: list[tuple[dict[str, Any], str | None]] = [
    ({"region": "us-east-1", "availability_zone": "us-east-1f"}, None),
    ({"region": "us-east-1", "availability_zone": "us-east-2f"}, "availability_zone"),
    ({"region": "us-gov-west-1", "availability_zone": "us-gov-west-1a"}, None),
    ({"instance_type": "p5.48xlarge"}, None),
    ({"instance_type": ""}, "instance_type"),
    ({**P5, "region": "us-east-1", "availability_zone": "us-east-1d"}, None),
    ({"instance_type": "p5e.48xlarge", "capacity": "on_demand"}, "capacity"),
    ({"instance_type": "p5e.48xlarge", "capacity": BLOCK}, None),
    ({**P5, "capacity": BLOCK}, None),
    ({"instance_type": "g5.8xlarge", "capacity": BLOCK}, "capacity"),
    ({"capacity": BLOCK, "placement_group": True}, "placement_group"),
    ({"capacity": BLOCK, "placement_group": None}, None),
    ({"capacity": BLOCK, "placement_group": False}, None),
    ({"capacity": "on_demand", "placement_group": True}, None),
    ({**P5, "network_interfaces": "separate"}, "network_interfaces"),
    ({"instance_type": "p5en.48xlarge", "network_interfaces": "separate"}, None),
    ({"instance_type": "p6-b300.48xlarge", "network_interfaces": "separate"}, None),
    ({"vpc": vpc("10.0.0.0/16")}, None),
    ({"vpc": vpc("10.0.0.0/26")}, None),
    ({"vpc": vpc("10.0.0.0/27")}, "vpc.cidr"),
    ({"vpc": vpc("10.0.0.0/15")}, "vpc.cidr"),
    ({"vpc": vpc("8.8.0.0/16")}, "vpc.cidr"),
    ({**P5, "network_interfaces": "shared", "vpc": vpc("10.0.0.0/24"), "max_nodes": 61}, None),
    ({**P5, "network_interfaces": "shared", "vpc": vpc("10.0.0.0/24"), "max_nodes": 62}, "vpc.cidr"),
    ({**P5, "network_interfaces": "shared", "vpc": HERE, "max_nodes": 1000}, None),
    ({"name": "p5-network"}, "name"),
    ({"name": "networks"}, None),
    ({"vpc": shared("a", cidr="10.0.0.0/24")}, None),
    ({"vpc": shared("a", cidr="10.0.0.0/25")}, "vpc.cidr"),
    ({"vpc": shared("a", cidr="8.8.0.0/16")}, "vpc.cidr"),
    ({"region": "us-east-1", "vpc": shared("a", "h")}, None),
    ({"region": "us-east-1", "vpc": shared("a", "i")}, "vpc.zones"),
    ({"region": "us-east-1", "vpc": shared("a", "a")}, "vpc.zones"),
    ({"region": "us-west-2", "vpc": shared("a")}, "vpc.zones"),
    ({"vpc": shared("a", "d"), "availability_zone": "us-east-1d"}, None),
    ({"vpc": shared("a", "d"), "availability_zone": "us-east-1b"}, "availability_zone"),
    ({**P5, "network_interfaces": "shared", "vpc": shared("a", cidr="10.0.0.0/24"), "max_nodes": 5}, None),
    ({**P5, "network_interfaces": "shared", "vpc": shared("a", cidr="10.0.0.0/24"), "max_nodes": 6}, "vpc.cidr"),
    ({"vpc": ISOLATED, "image": OWN_IMAGE}, None),
    ({"vpc": ISOLATED, "image": "public.ecr.aws/a/b:1"}, "image"),
    ({"vpc": NewVpc(nat_gateway=False), "image": OWN_IMAGE}, "vpc.nat_gateway"),
    ({"vpc": HERE, "image": "public.ecr.aws/a/b:1"}, None),
    ({"vpc": ISOLATED, "efa_installer": True}, "efa_installer"),
    ({"vpc": ISOLATED, "efa_installer": False}, None),
    ({"vpc": NewVpc(), "efa_installer": True}, None),
    ({"vpc": HERE, "efa_installer": True}, None),
    ({"vpc": ISOLATED, "ami": "ecs"}, None),
    ({"vpc": ISOLATED, "ami": "prebaked"}, "ami"),
    ({"vpc": NewVpc(), "ami": "prebaked"}, None),
    ({"vpc": HERE, "ami": PULLED}, None),
    ({"ami": PULLED, "efa_installer": True}, "efa_installer"),
    ({"ami": PULLED, "efa_installer": False}, None),
    ({"ami": "ecs", "efa_installer": True}, None),
    ({"ssh_cidrs": (IPv4Network("10.0.0.0/8"),), "ssh_open_to_world": False}, None),
    ({"ssh_cidrs": (IPv4Network("0.0.0.0/0"),), "ssh_open_to_world": False}, "ssh_cidrs"),
    ({"image": "a/b:1.2"}, None),
    ({"image": "registry:5000/a/b"}, "image"),
    ({"image": "a/b@sha256:" + "0" * 64}, None),
    ({"image": "a/b:latest"}, "image"),
    ({"instance_type": "trn1n.32xlarge", "image": DEFAULT_IMAGE}, "image"),
    ({"instance_type": "trn1n.32xlarge", "image": "public.ecr.aws/neuron/a:1"}, None),
    ({"instance_type": "p5.48xlarge", "image": DEFAULT_IMAGE}, None),
]
NOT_OFFERED = ({**P5, "region": "eu-west-3", "availability_zone": "eu-west-3a"}, "availability_zone")


@pytest.mark.parametrize(("values", "key"), [*TABLE, NOT_OFFERED])
def test_rules_speak_when_they_should_and_only_then(values: dict[str, Any], key: str | None) -> None:
    """Each of AWS's rules refuses what AWS would refuse, and lets the neighbouring good value through."""
    assert [problem.key for problem in check(values)] == ([key] if key else [])


def test_every_rule_has_a_case_where_it_speaks() -> None:
    """No rule is dead, and none is missing from the table."""
    silent = set(RULES)
    for values, _ in [*TABLE, NOT_OFFERED]:
        known = {**values}
        if instance := catalogue().get(values.get("instance_type", "")):
            known["instance"] = instance
            known["interfaces"] = network_interfaces(instance, values.get("network_interfaces", "shared"))
        for rule in RULES:
            names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
            if known.keys() >= set(names) and list(rule(**{name: known[name] for name in names})):
                silent.discard(rule)
    assert not silent, [rule.__name__ for rule in silent]


def test_a_problem_is_rendered_with_all_that_helps() -> None:
    """File, line, key, what, then got, allowed, reason, fix and source, each on a line of its own."""
    problem = Problem(
        key="a.b", message="wrong", got="1", allowed="2", reason="because", fix="write 2", source="https://x", line=7
    )
    assert problem.render("f.yaml").splitlines() == [
        "f.yaml:7: error: a.b: wrong",
        "    got:     1",
        "    allowed: 2",
        "    reason:  because",
        "    fix:     write 2",
        "    source:  https://x",
    ]
