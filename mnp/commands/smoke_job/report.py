"""The verdict of a smoke test, and the end of a job that has none, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from mnp.commands.console import data, say
from mnp.node.smoke_test.table import render

if TYPE_CHECKING:
    from mnp.commands.smoke_job.log import MainLog
    from mnp.commands.smoke_job.state import JobState

_STYLES = {"PASS": "green", "DEGRADED": "yellow", "FAIL": "bold red", "NOT_GRADED": "cyan"}


def show_result(document: dict[str, Any]) -> None:
    """Write sizes, checks and verdict to standard output, as in the job's log; a terminal gets the status in colour."""
    for line in render(document).splitlines():
        status = line.split(maxsplit=1)[0].rstrip(":") if line.strip() else ""
        text = Text(line)
        text.stylize(_STYLES.get(status, ""), 0, len(status))
        data.print(text, soft_wrap=True)


def explain_end(state: JobState, log: MainLog, *, has_result: bool) -> None:
    """Say how a job ended that did not end well; without a result, the last lines of the main node's log say why."""
    code = "unknown" if state.exit_code is None else state.exit_code
    reason = state.reason or "Batch gives no reason"
    say(f"job {state.job_id} ended {state.status}: {reason}; exit code of the main node: {code}", style="bold red")
    if has_result:
        return
    say("It left no result: neither a result line in the main node's log nor an object in S3.")
    if not log.last_lines:
        say("The main node's log is empty: its container did not start, or wrote nothing.")
        return
    say(f"Last {len(log.last_lines)} lines of the main node's log ({state.log_stream}):")
    for line in log.last_lines:
        say(f"  {line}")
