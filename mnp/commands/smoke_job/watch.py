"""A running smoke test as a series of views, asked for politely: often while things move, seldom while they do not."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mnp.commands.aws_errors import UNREACHABLE
from mnp.commands.smoke_job.state import JobState, UnknownJobError, look_at_job
from mnp.node import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mypy_boto3_batch import BatchClient

    from mnp.commands.smoke_job.log import MainLog

BACK_OFF = 1.5
# A laptop that sleeps or a network that fails for some minutes does not end the wait.
FAILURES_BORNE = 20


@dataclass(frozen=True)
class Pace:
    """Seconds between two looks: `first` after a change, growing to `longest` while nothing changes."""

    first: float
    longest: float

    def next(self, pause: float) -> float:
        """Return the pause that follows one after which nothing had changed."""
        return min(pause * BACK_OFF, self.longest)


AWS_PACE = Pace(first=1, longest=10)
LOCAL_PACE = Pace(first=0.5, longest=1)


@dataclass(frozen=True, kw_only=True)
class View:
    """How far a smoke test is.

    `result_line` is the main node's last word, without its prefix; `unreachable` says that AWS did not answer and that
    this is how far the test was before.
    """

    state: JobState
    arrival: progress.Arrival | None = None
    step: progress.Step | None = None
    result_line: str | None = None
    unreachable: bool = False

    def after(self, lines: Iterable[str]) -> View:
        """Return the view after these further lines of the main node's log."""
        view = self
        for line in lines:
            if line.startswith(progress.RESULT_PREFIX):
                view = replace(view, result_line=line.removeprefix(progress.RESULT_PREFIX))
                continue
            match progress.parse(line):
                case progress.Arrival() as arrival:
                    view = replace(view, arrival=arrival)
                case progress.Step() as step:
                    view = replace(view, step=step)
        return view


def views(
    batch: BatchClient,
    job_id: str,
    log: MainLog,
    pace: Pace,
    pause_for: Callable[[float], None] = time.sleep,
) -> Iterator[View]:
    """Yield a view at every look, until the job has ended; the last one has seen the whole log so far.

    Raises:
        UnknownJobError: Batch does not know the job, however often asked.
        botocore's errors: AWS refused, or could not be reached for several minutes.
    """
    view: View | None = None
    pause, failures = pace.first, 0
    while True:
        try:
            seen: View | None = _look(batch, job_id, log, view)
            failures = 0
        except (*UNREACHABLE, UnknownJobError):
            failures += 1
            if failures > FAILURES_BORNE:
                raise
            seen = view and replace(view, unreachable=True)
        pause = pace.first if seen != view else pace.next(pause)
        view = seen
        if view is not None:
            yield view
            if view.state.ended:
                return
        pause_for(pause)


def _look(batch: BatchClient, job_id: str, log: MainLog, before: View | None) -> View:
    state = look_at_job(batch, job_id)
    lines = log.read(state.log_stream)
    if before is None or before.state.log_stream not in {None, state.log_stream}:
        return View(state=state).after(lines)  # the first look, or the first one at another attempt
    return replace(before, state=state, unreachable=False).after(lines)
