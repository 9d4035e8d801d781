"""Slurm's short form of many host names: `gpu[01-03,7],login1`."""

from __future__ import annotations

import itertools
import re

# A name, or parts of one: plain text and lists of numbers in brackets, in any order.
_NAME = re.compile(r"(?:[^\[\],\s]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def expand(text: str, *, most: int) -> list[str]:
    """The names in order; the last brackets of a name count fastest, and zeros in front of a first number stay.

    Raises ValueError for text that is no such list or has more than so many names.
    """
    names: list[str] = []
    position = 0
    while True:
        found = _NAME.match(text, position)
        if found is None:
            raise ValueError(f"no host name at {text[position : position + 20]!r}")
        names += _expand_name(found[0], most - len(names))
        if found.end() == len(text):
            return names
        if text[found.end()] != ",":
            raise ValueError(f"no comma before {text[found.end() : found.end() + 20]!r}")
        position = found.end() + 1


def _expand_name(name: str, most: int) -> list[str]:
    parts, total = [], 1
    for part in _PART.finditer(name):
        ranges = [_bounds(item) for item in part[1].split(",")] if part[1] is not None else []
        total *= sum(last - first + 1 for first, last, _ in ranges) if ranges else 1
        if total > most:
            raise ValueError("more names than a job has nodes")
        parts.append(
            [str(n).zfill(width) for first, last, width in ranges for n in range(first, last + 1)] or [part[2]]
        )
    if total > most:
        raise ValueError("more names than a job has nodes")
    return ["".join(chosen) for chosen in itertools.product(*parts)]


def _bounds(item: str) -> tuple[int, int, int]:
    """First and last number of a range, and how many digits its numbers have at least."""
    found = _RANGE.fullmatch(item)
    if found is None:
        raise ValueError(f"{item!r} is neither a number nor a range")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise ValueError(f"the range {item!r} runs backwards")
    return first, last, len(found[1])
