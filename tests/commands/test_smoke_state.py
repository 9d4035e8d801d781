"""What is read from DescribeJobs' answers and from the main node's log."""

from __future__ import annotations

from typing import Any

import pytest

from mnp.commands.smoke_job.progress_view import describe, waiting_hint
from mnp.commands.smoke_job.state import JobState, job_state
from mnp.commands.smoke_job.watch import AWS_PACE, View
from tests.commands.example_contract import example_contract

PARENT: dict[str, Any] = {
    "jobId": "j",
    "status": "RUNNING",
    "jobDefinition": "arn:aws:batch:us-east-1:1:job-definition/demo-smoke:1",
    "createdAt": 1_700_000_000_000,
    "nodeProperties": {"numNodes": 3, "mainNode": 1},
}
RUNNING = JobState(job_id="j", status="RUNNING", reason=None, definition_arn="", created_at=0, nodes=3)


def test_before_nodes_exist_nothing_is_known_of_them() -> None:
    """A RUNNABLE job has a number of nodes and no more."""
    state = job_state({**PARENT, "status": "RUNNABLE"}, [])
    assert (state.nodes, state.nodes_running, state.log_stream, state.exit_code) == (3, 0, None, None)
    assert (state.created_at, state.ended) == (1_700_000_000, False)


def test_log_and_exit_code_are_the_main_nodes() -> None:
    """The main node is the one that the job says, not the first."""
    nodes = [
        {"jobId": "j#0", "status": "RUNNING", "container": {"logStreamName": "other"}},
        {"jobId": "j#1", "status": "FAILED", "container": {"logStreamName": "main", "exitCode": 3}},
        {"jobId": "j#2", "status": "STARTING"},
    ]
    state = job_state({**PARENT, "status": "FAILED", "statusReason": "Essential container exited"}, nodes)
    assert (state.log_stream, state.exit_code, state.nodes_running, state.ended) == ("main", 3, 1, True)


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (View(state=job_state({**PARENT, "status": "RUNNABLE"}, [])), "RUNNABLE: waiting for 3 nodes of p5.48xlarge"),
        (
            View(state=job_state({**PARENT, "status": "RUNNABLE", "statusReason": "MISCONFIGURATION:X"}, [])),
            "RUNNABLE: MISCONFIGURATION:X",
        ),
        (View(state=RUNNING), "RUNNING: the main node runs, nodes 0/3 up"),
        (
            View(state=RUNNING).after(["[mnp] rendezvous 2/3: node 2 (10.0.0.7) is here"]),
            "RUNNING: the main node runs, nodes 0/3 up, rendezvous 2/3",
        ),
        (
            View(state=RUNNING).after(
                [
                    "[mnp] rendezvous 3/3: node 1 (ip) is here",
                    "noise",
                    "[mnp] all-reduce 12/27: 1 MiB  610 us  busbw 0.71 GB/s",
                ]
            ),
            "RUNNING: the main node runs, nodes 0/3 up, all-reduce 12/27 (1 MiB, busbw 0.71 GB/s)",
        ),
        (View(state=job_state({**PARENT, "status": "FAILED"}, [])), "FAILED: Batch gives no reason"),
        (
            View(state=RUNNING, unreachable=True),
            "RUNNING: the main node runs (AWS does not answer, trying again), nodes 0/3 up",
        ),
    ],
)
def test_a_view_is_one_line(view: View, text: str) -> None:
    """Each phase says what it means and how far the nodes are."""
    assert describe(view, "p5.48xlarge") == text


def test_the_result_line_is_kept() -> None:
    """The last result line wins: a later attempt writes another."""
    assert View(state=RUNNING).after(["MNP_RESULT {1}", "x", "MNP_RESULT {2}"]).result_line == "{2}"


def test_the_hint_names_what_a_runnable_job_may_wait_for() -> None:
    """Type, number, zone and queue stand in the hint, so that it can be acted on."""
    hint = waiting_hint(example_contract(), 4)
    assert "4 x p5.48xlarge in us-east-1a" in hint
    assert "queue demo" in hint


def test_looks_become_rarer_up_to_a_limit() -> None:
    """While nothing changes the pause grows to ten seconds, no further."""
    pauses = [AWS_PACE.first]
    for _ in range(20):
        pauses.append(AWS_PACE.next(pauses[-1]))
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (1, 10)
