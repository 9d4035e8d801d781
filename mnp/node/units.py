"""Sizes as people write and read them, in nccl-tests' manner: 64M is 64 MiB."""

from __future__ import annotations

import re

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def parse_size(text: str) -> int:
    """Bytes for "8", "64M", "1G", "16 MiB"; a ValueError names what is allowed."""
    match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if not match:
        raise ValueError(f"{text!r} is not a size; write bytes or a number with K, M or G, such as 64M")
    exponent = " kmgt".index(match[2].lower() or " ")
    return int(match[1]) << (10 * exponent)


def format_size(size: int) -> str:
    """The size in the largest unit that holds it as a whole number, so that parsing gives it back."""
    exponent = 0
    while exponent + 1 < len(_UNITS) and size and size % (1 << (10 * (exponent + 1))) == 0:
        exponent += 1
    return f"{size >> (10 * exponent)} {_UNITS[exponent]}"
