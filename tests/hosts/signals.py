"""Lines that programs on hosts write for a test that waits for them."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path


class Signals:
    """A named pipe in a folder that the hosts share; programs write whole lines into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._reader = os.open(path, os.O_RDWR)  # for writing too, so that it has no end

    def wait(self, count: int, seconds: float = 60) -> list[str]:
        """The next so many lines. Raises TimeoutError."""
        deadline, text = time.monotonic() + seconds, ""
        while text.count("\n") < count:
            ready, _, _ = select.select([self._reader], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"{text.count(os.linesep)} of {count} lines came within {seconds:g} s: {text!r}")
            text += os.read(self._reader, 65536).decode()
        return text.splitlines()
