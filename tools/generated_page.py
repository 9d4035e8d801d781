"""What the scripts that write a page or a data file share: write it, or with --check say whether it is out of date."""

from __future__ import annotations

import sys
from pathlib import Path


def write_or_check(target: Path, text: str) -> int:
    """The exit code: 1 if the file was to be checked and differs."""
    if "--check" not in sys.argv[1:]:
        target.write_text(text, encoding="utf-8")
        return 0
    if target.read_text(encoding="utf-8") == text:
        return 0
    print(f"{target.name} is out of date: run {sys.argv[0]}", file=sys.stderr)
    return 1
