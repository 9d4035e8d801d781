"""Whether a failed attempt is followed by another. Pure.

Reference: https://docs.aws.amazon.com/batch/latest/APIReference/API_EvaluateOnExit.html (checked 2026-11-21).
"""

from __future__ import annotations

from typing import Any


def retries(strategy: dict[str, Any], attempt: int, *, exit_code: int | None, reason: str, status_reason: str) -> bool:
    """Return whether an attempt that failed is retried.

    Args:
        strategy: The job's retryStrategy.
        attempt: The number of the attempt that failed, from 1.
        exit_code: The main container's exit code, if it has one.
        reason: The main container's reason.
        status_reason: The attempt's statusReason.
    """
    if attempt >= int(strategy.get("attempts", 1)):
        return False
    seen = {
        "onExitCode": "" if exit_code is None else str(exit_code),
        "onReason": reason,
        "onStatusReason": status_reason,
    }
    for rule in strategy.get("evaluateOnExit") or []:
        conditions = [(pattern, seen[name]) for name, pattern in rule.items() if name in seen]
        if all(_matches(pattern, text) for pattern, text in conditions):
            return str(rule["action"]).upper() == "RETRY"
    return True


def _matches(pattern: str, text: str) -> bool:
    if pattern.endswith("*"):
        return text.lower().startswith(pattern[:-1].lower())
    return text.lower() == pattern.lower()
