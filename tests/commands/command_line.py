"""The real `mnp` in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class CommandLine:
    """Runs `mnp` with this environment and no other."""

    environ: dict[str, str] = field(default_factory=dict)

    def command(self, *arguments: str) -> list[str]:
        """Return the words that start `mnp`."""
        return [sys.executable, "-m", "mnp.commands.main", *arguments]

    def __call__(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end; keywords are further environment variables."""
        return subprocess.run(
            self.command(*arguments),
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
