"""Run a command several times on this node, each with a rank of its own. Usage: local_ranks.py COUNT COMMAND...

RANK must be set to the node's first rank. The first failure ends the other processes, and its exit code is the result.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_GRACE = 5.0  # seconds from SIGTERM to SIGKILL for the processes that a failure leaves behind


def run(count: int, command: list[str]) -> int:
    """The exit code: 0 once all processes ended well, else that of the first that did not; 128 + n for signal n."""
    first = int(os.environ["RANK"])
    running: dict[int, subprocess.Popen[bytes]] = {}
    try:
        for local in range(count):
            environ = {**os.environ, "LOCAL_RANK": str(local), "RANK": str(first + local)}
            process = subprocess.Popen(command, env=environ)
            running[process.pid] = process
        return _first_failure(running)
    except OSError as error:
        print(f"mnp: cannot start {command[0]}: {error}", file=sys.stderr)
        return 127
    finally:
        _end(list(running.values()))


def _first_failure(running: dict[int, subprocess.Popen[bytes]]) -> int:
    while running:
        pid, status = os.wait()
        # Orphans of the command come to us too where this is process 1.
        if pid in running:
            process = running.pop(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                return process.returncode if process.returncode > 0 else 128 - process.returncode
    return 0


def _end(left: list[subprocess.Popen[bytes]]) -> None:
    for process in left:
        process.terminate()
    deadline = time.monotonic() + _GRACE
    for process in left:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        process.kill()
        process.wait()


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _leave)
    raise SystemExit(run(int(sys.argv[1]), sys.argv[2:]))
