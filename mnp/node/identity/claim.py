"""What one environment's variables say of this node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .identity import IdentityError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_NODES = 100_000
MOST_ATTEMPTS = 1_000_000


@dataclass(frozen=True)
class Claim:
    """What an environment says; None where it says nothing.

    `variables` names, for messages, the variables that say it or should; `seen` has those that are set. `main` is the
    main node's address or name, `peer` the name of any other node, for the main node to look for its way there.
    """

    source: str
    variables: Mapping[str, str]
    seen: Mapping[str, str]
    job_id: str | None = None
    attempt: int | None = None
    index: int | None = None
    main_index: int | None = None
    count: int | None = None
    main: str | None = None
    peer: str | None = None
    metadata_uri: str | None = None

    @property
    def is_main(self) -> bool:
        """Whether it says that this is the main node."""
        return self.index is not None and self.index == self.main_index

    def lacks(self) -> list[str]:
        """The fields without which a node does not know who it is."""
        needed = ["index", "count", "main_index", "attempt"]
        if self.count != 1:
            needed.append("job_id")
            if not self.is_main:
                needed.append("main")
        return [name for name in needed if getattr(self, name) is None]


def picked(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Those of the variables that are set and not empty."""
    return {name: environ[name] for name in names if environ.get(name)}


def number(seen: Mapping[str, str], name: str, allowed: range) -> int | None:
    """The variable's number, None if it is not set. Raises IdentityError."""
    text = seen.get(name)
    if text is None:
        return None
    # int() itself refuses thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(allowed.stop)) and int(text) in allowed):
        limits = f"{allowed.start} to {allowed.stop - 1}"
        raise IdentityError(f"{name} is {text!r}; allowed: {limits} (seen: {listed(seen)})")
    return int(text)


def listed(seen: Mapping[str, str]) -> str:
    """The variables with their values in one line."""
    return ", ".join(f"{name}={value}" for name, value in sorted(seen.items()))
