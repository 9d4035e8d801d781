from __future__ import annotations

from typing import Any

import pytest

from mnp.cluster.cluster_file import ClusterFile
from mnp.cluster.model import Cluster
from mnp.cluster.problems import ClusterFileError
from mnp.cluster.together import refuse_conflicts
from tests.synth import P5

# A zone's subnet has 11 addresses for nodes, and a p5.48xlarge takes two.
SMALL: dict[str, Any] = {"name": "ml", "cidr": "10.0.0.0/24", "zones": ["us-east-1a", "us-east-1d"]}
IN_WEST = {"region": "us-west-2", "availability_zone": "us-west-2a"}


def file(name: str, **changes: Any) -> ClusterFile:
    cluster = Cluster.model_validate(P5 | {"name": name, "max_nodes": 2, "vpc": SMALL} | changes)
    return ClusterFile(f"{name}.yaml", cluster, ())


def refusal(*files: ClusterFile) -> ClusterFileError:
    with pytest.raises(ClusterFileError) as error:
        refuse_conflicts(files)
    return error.value


def test_two_clusters_of_one_name_are_refused() -> None:
    """Both would make the same stacks."""
    error = refusal(file("one"), file("other"), file("one", vpc={}))
    assert [problem.key for problem in error.problems] == ["name"]
    assert "one.yaml has the same name" in str(error)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cidr", "10.1.0.0/24"),
        ("zones", ["us-east-1a"]),
        ("nat_gateway", False),
        ("interface_endpoints", True),
    ],
)
def test_a_shared_vpc_that_two_files_describe_otherwise_is_refused(key: str, value: Any) -> None:
    """Which of them would win depends on which is deployed last; the message names both files and the key."""
    error = refusal(file("one"), file("alike"), file("other", vpc=SMALL | {key: value}))
    assert error.file == "other.yaml"
    assert [problem.key for problem in error.problems] == [f"vpc.{key}"]
    assert "differs from one.yaml" in str(error)


def test_every_key_that_differs_is_named() -> None:
    """All mistakes come at once."""
    error = refusal(file("one"), file("other", vpc=SMALL | {"nat_gateway": False, "interface_endpoints": True}))
    assert {problem.key for problem in error.problems} == {"vpc.nat_gateway", "vpc.interface_endpoints"}


def test_the_order_of_zones_is_no_difference() -> None:
    """The same zones in another order are the same VPC."""
    refuse_conflicts([file("one"), file("other", vpc=SMALL | {"zones": [*reversed(SMALL["zones"])]})])


def test_clusters_that_fit_alone_but_not_together_are_refused() -> None:
    """They share the subnet of their zone, and the later cluster would wait for addresses."""
    error = refusal(file("one", max_nodes=3), file("other", max_nodes=3))
    assert [problem.key for problem in error.problems] == ["max_nodes"]
    assert "allowed: 5 of 11: taken are 6 by one.yaml" in str(error)


def test_clusters_that_fill_a_zone_together_are_right() -> None:
    """Five nodes of two addresses each fit into eleven."""
    refuse_conflicts([file("one", max_nodes=3), file("other", max_nodes=2)])


@pytest.mark.parametrize(
    "changes",
    [
        {"availability_zone": "us-east-1d"},
        {"vpc": SMALL | {"name": "other"}},
        {"vpc": {"cidr": "10.0.0.0/24"}},
        IN_WEST | {"vpc": SMALL | {"zones": ["us-west-2a"]}},
    ],
    ids=["another zone", "another shared VPC", "a VPC of its own", "another region"],
)
def test_clusters_in_other_subnets_take_no_addresses(changes: dict[str, Any]) -> None:
    """Another zone, another VPC of the same range and the same name in another region are places of their own."""
    refuse_conflicts([file("one", max_nodes=5), file("other", max_nodes=5, **changes)])
