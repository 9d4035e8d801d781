"""One node's process, under a guardian, its output going to its log stream."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING, cast

from mnp.local_aws.executor import guardian

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mnp.local_aws.executor.log_stream import LogStream

_CHUNK_BYTES = 65536


class NodeProcess:
    """A started command. `ended` is called once, with the exit code, after the last line is in the log."""

    def __init__(
        self,
        command: list[str],
        *,
        environment: dict[str, str],
        folder: Path,
        log: LogStream,
        ended: Callable[[int], None],
    ) -> None:
        # Isolated and without site: it starts in some 15 ms and the job's PYTHON* variables do not concern it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__, *command],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        self._orders, self._output = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        self._log, self._ended = log, ended
        self._thread = threading.Thread(target=self._follow, name=f"log {log.name}", daemon=True)
        self._thread.start()

    def stop(self, grace_seconds: float) -> None:
        """Send SIGTERM to the command's process group, and SIGKILL when the grace is over."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._orders.write(f"stop {grace_seconds}\n".encode())

    def kill(self) -> None:
        """End the command and all its descendants at once."""
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()

    def wait(self, timeout: float) -> None:
        self._thread.join(timeout)

    def _follow(self) -> None:
        with self._output:
            while data := os.read(self._output.fileno(), _CHUNK_BYTES):
                self._log.write(data)
        self._log.close()
        code = self._process.wait()
        self.kill()
        self._ended(code)
