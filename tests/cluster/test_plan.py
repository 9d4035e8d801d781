from __future__ import annotations

from typing import Any

import pytest

from mnp.cluster.model import Cluster
from mnp.cluster.plan import plan
from tests.synth import P5


def plan_of(**changes: Any) -> Any:
    return plan(Cluster.model_validate(P5 | changes))


def test_price_is_of_all_nodes_at_list_price() -> None:
    """The price shown is what a full cluster costs an hour on demand."""
    assert plan_of(max_nodes=8).usd_per_hour == pytest.approx(8 * 55.04)


@pytest.mark.parametrize(
    "changes", [{"instance_type": "p5e.48xlarge"}, {"capacity": {"capacity_block": "cr-0123456789abcdef0"}}]
)
def test_no_price_is_invented(changes: dict[str, Any]) -> None:
    """Where AWS lists none, or a block is paid for in advance, none is shown."""
    assert plan_of(**changes).usd_per_hour is None


def test_quota_and_addresses_are_those_of_the_full_size() -> None:
    """What must be asked of AWS before the first deploy: vCPUs under the family's quota, addresses in the subnet."""
    found = plan_of(max_nodes=64)
    assert (found.vcpus, found.vcpu_quota) == (64 * 192, "L-417A185B")
    assert (found.addresses_per_node, found.addresses_needed) == (2, 128)
    assert plan_of(instance_type="g6.8xlarge").vcpu_quota == "L-DB2E81BA"


def test_a_job_never_asks_for_more_than_the_node_registers() -> None:
    """Memory of a whole-node job stays below the instance's, and /dev/shm below the job's."""
    node = plan_of().node
    assert node.shared_memory_mib < node.memory_mib < 2097152


@pytest.mark.parametrize(("ami", "stacks"), [("ecs", 2), ("prebaked", 3), ({"prebaked": {}}, 3)])
def test_a_prebaked_image_is_a_stack_between_network_and_cluster(ami: Any, stacks: int) -> None:
    """The stacks are listed in the order in which they are deployed."""
    names = ["mnp-test-network", "mnp-test-image", "mnp-test"]
    assert list(plan_of(ami=ami).stacks) == (names if stacks == 3 else [names[0], names[2]])
