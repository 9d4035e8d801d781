"""What is wrong with a cluster file, in the words of the person who wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

# What is shown of a value must leave the line readable.
LONGEST_VALUE = 200


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake. `key` is dotted (`vpc.cidr`), empty when it is the whole file; `got` is written as by `shown`."""

    message: str
    key: str = ""
    got: str | None = None
    allowed: str | None = None
    reason: str | None = None
    fix: str | None = None
    source: str | None = None
    level: Literal["error", "warning"] = "error"
    line: int | None = None

    def render(self, file: str) -> str:
        """Several lines of text: where, what, then one indented line for each thing that helps."""
        where = f"{file}:{self.line}" if self.line else file
        subject = f"{self.key}: " if self.key else ""
        head = f"{where}: {self.level}: {subject}{self.message}"
        notes = ("got", "allowed", "reason", "fix", "source")
        return "\n".join([head, *(f"    {note + ':':<9}{text}" for note in notes if (text := getattr(self, note)))])


def shown(value: Any) -> str:
    """A value as JSON writes it, cut where a reader has seen enough."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "..."


class ClusterFileError(Exception):
    """A cluster file that cannot be used; `problems` holds every mistake found, warnings included."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        super().__init__(file, problems)
        self.file = file
        self.problems = problems

    def __str__(self) -> str:
        errors = sum(problem.level == "error" for problem in self.problems)
        count = f"{errors} mistake{'s' if errors != 1 else ''}; nothing was done."
        return "\n".join([*(problem.render(self.file) for problem in self.problems), f"{self.file}: {count}"])
