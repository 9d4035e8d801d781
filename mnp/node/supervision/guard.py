"""A process above the node's own that outlives it: whatever way that one ends, nothing it started stays.

It is process 1 of a container, or as good as: orphans become its children, so it finds and reaps them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from typing import TYPE_CHECKING, NoReturn

from ..progress import say
from .process_group import SIGNAL_EXIT
from .processes import descendants, kill

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_KILL_SECONDS = 5.0  # for killed processes to end; one that waits for a dead disk never does
_LOOK_SECONDS = 0.02


def guarded(work: Callable[[], int], grace: float) -> int:
    """The exit code of the work, done in a process of its own; 128 + n if signal n ended that.

    What the work leaves running is ended: SIGTERM, `grace` seconds, SIGKILL. Signals to this process are passed on
    to the work's, and its end by SIGKILL ends that one too, by SIGTERM. Elsewhere than on Linux the work is done in
    this process.
    """
    if not sys.platform.startswith("linux") or not _prctl(_PR_SET_CHILD_SUBREAPER, 1):
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    own = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    child = os.fork()
    if child == 0:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        if os.getppid() != own:
            os._exit(SIGNAL_EXIT + signal.SIGTERM)
        _work(work)
    for number in _PASSED_ON:
        signal.signal(number, lambda got, _: _pass_on(child, got))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    try:
        code = _wait(child)
        _sweep(grace)
    finally:
        for number in _PASSED_ON:
            signal.signal(number, signal.SIG_DFL)
    return code


def _work(work: Callable[[], int]) -> NoReturn:
    code = 1
    try:
        code = work()
    except BaseException:  # noqa: BLE001 - this process's outermost frame
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _pass_on(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _wait(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            break
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        say(f"failed: this node's own process was ended by signal {number}")
        return SIGNAL_EXIT + number
    return os.WEXITSTATUS(status)


def _sweep(grace: float) -> None:
    """End all that is left below this process."""
    kill(descendants(os.getpid()), signal.SIGTERM)
    deadline = time.monotonic() + grace
    while _alive() and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    deadline = time.monotonic() + _KILL_SECONDS
    # More than once: what is killed may have started something meanwhile.
    while _alive() and time.monotonic() < deadline:
        kill(descendants(os.getpid()), signal.SIGKILL)
        time.sleep(_LOOK_SECONDS)


def _alive() -> bool:
    """Whether this process has children; the ended ones are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _prctl(option: int, value: int) -> bool:
    try:
        import ctypes  # noqa: PLC0415 - a slim Python may lack it

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False
