"""The progress lines in the main node's log: written by the node code, read by `mnp smoke`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .units import format_size, parse_size

PREFIX = "[mnp]"
RESULT_PREFIX = "MNP_RESULT "

_ARRIVAL = re.compile(r"\[mnp\] rendezvous (\d+)/(\d+): node (\d+) \((.*)\) is here")
_STEP = re.compile(r"\[mnp\] all-reduce (\d+)/(\d+): (\d+ [KMGT]?i?B)\s+(\S+) us\s+busbw (\S+) GB/s")


@dataclass(frozen=True)
class Arrival:
    """A node has come to the rendezvous: `arrived` of `expected` nodes are there."""

    arrived: int
    expected: int
    index: int
    address: str


@dataclass(frozen=True)
class Step:
    """One size of the all-reduce is measured: size in bytes, time in us, bus bandwidth in GB/s."""

    done: int
    total: int
    size: int
    time: float
    bus_bw: float


def format_arrival(arrival: Arrival) -> str:
    """The line that says who has come."""
    return f"{PREFIX} rendezvous {arrival.arrived}/{arrival.expected}: node {arrival.index} ({arrival.address}) is here"


def format_step(step: Step) -> str:
    """The line of one size; time and bandwidth to four significant digits."""
    return (
        f"{PREFIX} all-reduce {step.done}/{step.total}: {format_size(step.size)}  "
        f"{step.time:.4g} us  busbw {step.bus_bw:.4g} GB/s"
    )


def parse(line: str) -> Arrival | Step | None:
    """What a log line says, or None for any other line."""
    found = _ARRIVAL.fullmatch(line.strip())
    if found:
        return Arrival(int(found[1]), int(found[2]), int(found[3]), found[4])
    found = _STEP.fullmatch(line.strip())
    if found:
        return Step(int(found[1]), int(found[2]), parse_size(found[3]), float(found[4]), float(found[5]))
    return None


def announce(event: Arrival | Step) -> None:
    """Write the event's line to the job's log at once."""
    print(format_arrival(event) if isinstance(event, Arrival) else format_step(event), flush=True)


def say(text: str) -> None:
    """Write any other line of ours to the job's log at once."""
    print(f"{PREFIX} {text}", flush=True)
