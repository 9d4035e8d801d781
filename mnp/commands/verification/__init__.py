"""What a deployed cluster must look like to the service APIs, compared with what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """One fact of the account; it holds when `found`, from a service's API, equals `expected`, from the file."""

    subject: str
    fact: str
    expected: Any
    found: Any

    @property
    def holds(self) -> bool:
        return bool(self.expected == self.found)
