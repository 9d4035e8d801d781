"""Run commands, one after the other, beside Ray's head node.

Usage: ray_head.py HEAD... -- AWAIT_PORT... -- RAY_NODES... -- COMMAND...
Ray's head is ended with the last command, with the first that fails, and with this program.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_PAUSE = 0.2  # seconds between looks at what has ended
_GRACE = 10.0  # seconds from SIGTERM to SIGKILL; Ray's own limit for its daemons is shorter


def run(head_command: Sequence[str], commands: Sequence[Sequence[str]]) -> int:
    """The exit code: 0, else that of the first command that failed; 128 + n for signal n, 1 if the head ended first."""
    running = [subprocess.Popen(head_command)]
    try:
        for command in commands:
            running.append(subprocess.Popen(command))
            code = _wait(running[-1], running[0])
            if code:
                return code
    except OSError as error:
        print(f"mnp: {error}", file=sys.stderr)
        return 127
    finally:
        for process in reversed(running):
            _end(process)
    return 0


def _wait(command: subprocess.Popen[bytes], head: subprocess.Popen[bytes]) -> int:
    while (code := command.poll()) is None:
        if head.poll() is not None:
            print(f"mnp: Ray's head node ended by itself (exit code {head.returncode})", file=sys.stderr)
            return 1
        time.sleep(_PAUSE)
    return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _split(arguments: Sequence[str], parts: int) -> list[list[str]]:
    """The arguments in so many parts; a `--` in the last one is its own."""
    found: list[list[str]] = [[]]
    for argument in arguments:
        if argument == "--" and len(found) < parts:
            found.append([])
        else:
            found[-1].append(argument)
    return found


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _leave)
    head, *commands = _split(sys.argv[1:], 4)
    raise SystemExit(run(head, commands))
