"""Runs one command and sees to it that nothing of it is left, whatever happens to the server.

A program of its own: `python -I -S guardian.py COMMAND...`. Standard input is a pipe from the server. A line
`stop SECONDS` sends SIGTERM to the command's process group, and SIGKILL after that many seconds; the end of the pipe
(the server let go, or died) means SIGKILL at once. Leaves with the command's exit code, 128 + n for signal n.
On Linux the guardian adopts orphaned descendants, so that daemons which left the process group are found as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_NOT_FOUND, _NOT_EXECUTABLE, _SIGNALLED = 127, 126, 128


def main(command: list[str]) -> int:
    """Run the command to its end and return its exit code."""
    woken, waker = os.pipe()
    for end in (woken, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _ignore)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        _run(command)
    # Done on both sides, so that whichever comes first, a stop finds the group.
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.setpgid(child, child)
    code = _watch(child, woken)
    _kill_descendants()
    return code


def _run(command: list[str]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code = _NOT_FOUND
    try:
        os.execvp(command[0], command)  # noqa: S606 - running the job's command is the purpose
    except FileNotFoundError:
        os.write(2, f"exec: {command[0]!r}: executable file not found in $PATH\n".encode())
    except OSError as error:
        os.write(2, f"exec: {command[0]!r}: {error.strerror}\n".encode())
        code = _NOT_EXECUTABLE
    os._exit(code)


def _watch(child: int, woken: int) -> int:
    deadline: float | None = None
    while True:
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select([0, woken], [], [], timeout)
        if woken in readable:
            os.read(woken, 4096)
        code = _reap(child)
        if code is not None:
            return code
        if deadline is not None and time.monotonic() >= deadline:
            _signal_group(child, signal.SIGKILL)
            deadline = None
        if 0 in readable:
            order = os.read(0, 4096).decode().split()
            if not order:
                _signal_group(child, signal.SIGKILL)
                return _SIGNALLED + signal.SIGKILL
            _signal_group(child, signal.SIGTERM)
            deadline = time.monotonic() + float(order[-1])


def _reap(child: int) -> int | None:
    """Collect what has ended; return the command's exit code if it is among them."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                _signal_group(child, signal.SIGKILL)
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else _SIGNALLED - code
    return None


def _signal_group(child: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, number)


def _kill_descendants() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while children.exists():
        pids = [int(pid) for pid in children.read_text().split()]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Let the signal only wake the main loop."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
