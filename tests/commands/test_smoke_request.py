"""What `mnp smoke` asks AWS Batch for."""

from __future__ import annotations

from typing import Any

import pytest

from mnp.commands.errors import UsageError
from mnp.commands.smoke_job.request import choose_nodes, submit_request
from tests.commands.example_contract import example_contract


def test_without_options_only_the_number_of_nodes_is_overridden() -> None:
    """The whole SubmitJob request of a plain `mnp smoke`."""
    contract = example_contract()
    assert submit_request(contract, nodes=2, options=[]) == {
        "jobName": "mnp-smoke-demo",
        "jobQueue": contract.queue_arn,
        "jobDefinition": contract.smoke_job_definition_arn,
        "nodeOverrides": {"numNodes": 2},
    }


def test_options_reach_every_node_as_one_shell_quoted_variable() -> None:
    """Options travel as MNP_SMOKE_OPTIONS to the open node range, quoted."""
    request: Any = submit_request(example_contract(), nodes=3, options=["--max-bytes", "64 MiB"])
    assert request["nodeOverrides"] == {
        "numNodes": 3,
        "nodePropertyOverrides": [
            {
                "targetNodes": "0:",
                "containerOverrides": {"environment": [{"name": "MNP_SMOKE_OPTIONS", "value": "--max-bytes '64 MiB'"}]},
            }
        ],
    }


@pytest.mark.parametrize(("max_nodes", "wanted", "chosen"), [(8, None, 2), (1, None, 1), (8, 8, 8), (8, 1, 1)])
def test_two_nodes_unless_said_otherwise(max_nodes: int, wanted: int | None, chosen: int) -> None:
    """The default is the least that crosses the network, or what there is."""
    assert choose_nodes(example_contract(max_nodes=max_nodes), wanted) == chosen


@pytest.mark.parametrize("wanted", [0, -1, 5])
def test_more_nodes_than_the_cluster_has_are_refused(wanted: int) -> None:
    """The message says the number got and the numbers allowed."""
    with pytest.raises(UsageError, match=rf"--nodes {wanted}: .* 1 to 4 nodes"):
        choose_nodes(example_contract(max_nodes=4), wanted)
