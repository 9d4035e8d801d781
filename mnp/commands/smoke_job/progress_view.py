"""How a person sees a running smoke test: a live display on a terminal, lines on change elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from mnp.commands.console import people, say
from mnp.node.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from mnp.cluster.contract import Contract
    from mnp.commands.smoke_job.watch import View

HINT_AFTER_SECONDS = 120

_MEANINGS = {
    "SUBMITTED": "Batch has the job",
    "PENDING": "waiting for jobs that it depends on",
    "STARTING": "the main node is starting, the others follow it",
    "RUNNING": "the main node runs",
    "SUCCEEDED": "the main node has ended with exit code 0",
}


def describe_status(view: View, instance_type: str) -> str:
    """Return the job's status and what it means."""
    state = view.state
    match state.status:
        case "RUNNABLE":
            plural = "s" if state.nodes > 1 else ""
            meaning = state.reason or f"waiting for {state.nodes} node{plural} of {instance_type}"
        case "FAILED":
            meaning = state.reason or "Batch gives no reason"
        case status:
            meaning = _MEANINGS.get(status, "")
    trouble = " (AWS does not answer, trying again)" if view.unreachable else ""
    return f"{state.status}: {meaning}{trouble}"


def describe(view: View, instance_type: str) -> str:
    """Return one line: the job's status, what it means, and how far the nodes are."""
    parts = [describe_status(view, instance_type)]
    if view.state.status == "RUNNING":
        parts.append(f"nodes {view.state.nodes_running}/{view.state.nodes} up")
        parts += _node_progress(view)
    return ", ".join(parts)


def _node_progress(view: View) -> Iterator[str]:
    if view.step:
        size, speed = format_size(view.step.size), view.step.bus_bw
        yield f"all-reduce {view.step.done}/{view.step.total} ({size}, busbw {speed:g} GB/s)"
    elif view.arrival:
        yield f"rendezvous {view.arrival.arrived}/{view.arrival.expected}"


def waiting_hint(contract: Contract, nodes: int) -> str:
    """Return what a job that stays RUNNABLE may be waiting for: Batch itself does not say."""
    what = f"{nodes} x {contract.node.instance_type} in {contract.availability_zone}"
    return (
        f"Batch does not say what a RUNNABLE job waits for. Usual causes: no capacity for {what}; the account's vCPU "
        f"quota; other jobs in queue {contract.queue_name}; instances that cannot join the cluster (no way out of the "
        f"subnet, a wrong image). Look: `mnp verify FILE`, and the activity of the Auto Scaling group in EC2."
    )


class ProgressView(Protocol):
    """Shows views one after the other, as a context manager."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def show(self, view: View) -> None:
        """Show the view in place of the one before."""


class LineView:
    """A line with the seconds since the job was created, whenever something has changed."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, view: View) -> None:
        text = describe(view, self._contract.node.instance_type)
        if text != self._last:
            say(f"[{_age(view):5.0f} s] {text}")
        self._last = text


class LiveView:
    """Status and bars that change in place, on a terminal."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=people,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, view: View) -> None:
        state = view.state
        self._bar("job", None, None, describe_status(view, self._contract.node.instance_type))
        if state.status == "RUNNING":
            self._bar("nodes up", state.nodes_running, state.nodes, f"{state.nodes_running}/{state.nodes}")
        if view.arrival:
            arrival = view.arrival
            self._bar("rendezvous", arrival.arrived, arrival.expected, f"{arrival.arrived}/{arrival.expected}")
        if view.step:
            step = view.step
            note = f"{step.done}/{step.total}  {format_size(step.size)}  busbw {step.bus_bw:g} GB/s"
            self._bar("all-reduce", step.done, step.total, note)

    def _bar(self, name: str, done: int | None, total: int | None, note: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total, note=note)
        self._progress.update(self._tasks[name], completed=done, total=total, note=note)


def _age(view: View) -> float:
    return max(0.0, time.time() - view.state.created_at)


def show_all(views: Iterable[View], contract: Contract) -> View:
    """Show views to their end, hint once when the job waits for long, and return the last one."""
    hinted = False
    display: ProgressView = LiveView(contract) if people.is_terminal else LineView(contract)
    with display:
        for view in views:
            display.show(view)
            if not hinted and view.state.status == "RUNNABLE" and _age(view) > HINT_AFTER_SECONDS:
                say(waiting_hint(contract, view.state.nodes))
                hinted = True
    return view
