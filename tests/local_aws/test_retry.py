"""Retry strategies, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from mnp.local_aws.executor.retry import retries

HOST_LOST = {"onStatusReason": "Host EC2*", "action": "RETRY"}
ELSE_EXIT = {"onReason": "*", "action": "EXIT"}


@pytest.mark.parametrize(
    ("strategy", "attempt", "exit_code", "status_reason", "expected"),
    [
        ({}, 1, 1, "", False),
        ({"attempts": 2}, 1, 1, "", True),
        ({"attempts": 2}, 2, 1, "", False),
        ({"attempts": 2, "evaluateOnExit": [HOST_LOST, ELSE_EXIT]}, 1, None, "Host EC2 (i-1) terminated.", True),
        ({"attempts": 2, "evaluateOnExit": [HOST_LOST, ELSE_EXIT]}, 1, 1, "Essential container", False),
        ({"attempts": 2, "evaluateOnExit": [{"onExitCode": "13*", "action": "exit"}]}, 1, 137, "", False),
        ({"attempts": 2, "evaluateOnExit": [{"onExitCode": "13*", "action": "exit"}]}, 1, 1, "", True),
        ({"attempts": 2, "evaluateOnExit": [{"onExitCode": "1", **HOST_LOST}, ELSE_EXIT]}, 1, 1, "other", False),
    ],
)
def test_the_first_rule_that_matches_decides(
    strategy: dict[str, Any], attempt: int, exit_code: int | None, status_reason: str, *, expected: bool
) -> None:
    """Every condition of a rule must match; with no rule matching the job is retried, as AWS documents."""
    answer = retries(strategy, attempt, exit_code=exit_code, reason="", status_reason=status_reason)
    assert answer is expected
