"""What differs between two catalogues of instance types, a line each: what is in the file -> what AWS says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Catalogue = Mapping[str, Mapping[str, Any]]
ZONES = "availability_zones"


def differences(present: Catalogue, found: Catalogue) -> Iterator[str]:
    """Types that came or went, then facts that changed, then zones, by instance type."""
    for name in sorted(present.keys() | found.keys()):
        if name not in present:
            yield f"{name}: new"
        elif name not in found:
            yield f"{name}: gone"
        else:
            yield from (f"{name}: {line}" for line in _facts(present[name], found[name]))
            yield from (f"{name}: {line}" for line in _zones(present[name][ZONES], found[name][ZONES]))


def _facts(present: Mapping[str, Any], found: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for fact in sorted((present.keys() | found.keys()) - {ZONES}):
        old, new = present.get(fact), found.get(fact)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _facts(old, new, f"{prefix}{fact}.")
        elif old != new:
            yield f"{prefix}{fact}: {json.dumps(old)} -> {json.dumps(new)}"


def _zones(present: Mapping[str, list[str]], found: Mapping[str, list[str]]) -> Iterator[str]:
    """`zones in us-east-1: +us-east-1c -us-east-1a`."""
    for region in sorted(present.keys() | found.keys()):
        old, new = (set(zones.get(region, ())) for zones in (present, found))
        if old != new:
            changes = [*(f"+{zone}" for zone in sorted(new - old)), *(f"-{zone}" for zone in sorted(old - new))]
            yield f"zones in {region}: {' '.join(changes)}"
