"""Processes that are not this one's own children, found in /proc; none on a system without it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable

Found = tuple[int, str]  # a process id and its start time, since ids are used again
_STATE, _PARENT, _GROUP, _SESSION, _STARTED = 0, 1, 2, 3, 19  # fields after the command name, see proc(5)


def descendants(pid: int) -> set[Found]:
    """All processes below pid."""
    stats = dict(_all())
    children: dict[int, list[int]] = {}
    for each, stat in stats.items():
        children.setdefault(int(stat[_PARENT]), []).append(each)
    found: set[Found] = set()
    queue = [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.add((child, stats[child][_STARTED]))
            queue.append(child)
    return found


def members(pid: int) -> set[Found]:
    """All processes in the process group or session that pid leads or led, but for pid itself."""
    leader = str(pid)
    return {(each, stat[_STARTED]) for each, stat in _all() if leader in {stat[_GROUP], stat[_SESSION]} and each != pid}


def living(processes: Iterable[Found]) -> set[Found]:
    """Those of them that have not ended."""
    return {(pid, started) for pid, started in processes if _lives(pid, started)}


def kill(processes: Iterable[Found], number: signal.Signals) -> None:
    """Send those that have not ended a signal."""
    for pid, _ in living(processes):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _lives(pid: int, started: str) -> bool:
    stat = _stat(pid)
    return bool(stat) and stat[_STARTED] == started and stat[_STATE] not in {"Z", "X"}


def _all() -> Iterable[tuple[int, list[str]]]:
    for folder in Path("/proc").glob("[0-9]*"):
        stat = _stat(int(folder.name))
        if stat:
            yield int(folder.name), stat


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command name, which may itself hold spaces and parentheses."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
