"""Whether the nodes of a job are alike: what refuses the job, and what is only said.

A collective goes at the pace of its slowest node and needs the same processes on each, so one odd node spoils the job.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..card import Card

VARIABLE = "MNP_UNEQUAL_NODES"
_POLICIES = ("refuse", "warn")
_NAMED = 4  # nodes named in one line


class EqualityError(Exception):
    """The variable that chooses the policy is not readable."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on all nodes; `node` is the index of the first odd one."""

    message: str
    refuses: bool
    node: int


def refuses(environ: Mapping[str, str]) -> bool:
    """Whether unequal hardware refuses the job, as it does unless MNP_UNEQUAL_NODES is `warn`. Raises EqualityError."""
    policy = environ.get(VARIABLE) or _POLICIES[0]
    if policy not in _POLICIES:
        raise EqualityError(f"{VARIABLE} is {policy!r}; allowed: {', '.join(_POLICIES)}")
    return policy == _POLICIES[0]


def differences(cards: Sequence[Card]) -> list[Difference]:
    """What differs, in the order of weight, one line each that names the odd nodes against the majority.

    Instance type and accelerators refuse a job. EFA devices and versions do not: the job may still run, and the smoke
    test judges EFA. What a node cannot say of itself is no difference.
    """
    found = (
        _difference(cards, "instance type", lambda card: card.instance_type or "", refuses=True),
        _difference(cards, "GPUs", lambda card: _amount(card.gpus, "GPU"), refuses=True),
        _difference(cards, "Trainium devices", lambda card: str(len(card.neuron_devices)), refuses=True),
        _difference(cards, "EFA devices", lambda card: str(len(card.efa_devices)), refuses=False),
        *(
            _difference(cards, f"version of {name}", _version_of(name), refuses=False)
            for name in sorted({name for card in cards for name in card.versions})
        ),
    )
    return [difference for difference in found if difference]


def _difference(cards: Sequence[Card], what: str, value: Callable[[Card], str], *, refuses: bool) -> Difference | None:
    known = [(value(card), card) for card in cards]
    known = [(seen, card) for seen, card in known if seen]
    counts = Counter(seen for seen, _ in known)
    if len(counts) < 2:  # noqa: PLR2004 - two values make a difference
        return None
    usual, number = counts.most_common(1)[0]
    odd = [(seen, card) for seen, card in known if seen != usual]
    named = ", ".join(f"node {card.index} ({card.address}) has {seen}" for seen, card in odd[:_NAMED])
    more = f", {len(odd) - _NAMED} more nodes differ" if len(odd) > _NAMED else ""
    others = f"{number} nodes have" if number > 1 else "1 node has"
    return Difference(f"{what}: {named}{more}; {others} {usual}", refuses, odd[0][1].index)


def _version_of(name: str) -> Callable[[Card], str]:
    return lambda card: card.versions.get(name, "")


def _amount(names: Sequence[str], what: str) -> str:
    """Such as "8 x NVIDIA H200", "no GPU"."""
    return ", ".join(f"{number} x {name}" for name, number in Counter(names).items()) or f"no {what}"
