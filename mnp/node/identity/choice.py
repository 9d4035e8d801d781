"""Which environment's word counts: `MNP_*` variables field by field, then that of the one environment there is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from . import address, batch, explicit, kubernetes, slurm
from .claim import Claim, listed, number
from .identity import DEFAULT_PORT, Identity, IdentityError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Set for the processes of a launch, and only there.
LAUNCHED = "MNP_LAUNCHED"
_ENVIRONMENTS = (batch.read, kubernetes.read, slurm.read)
_NOTHING = Claim("no environment", explicit.VARIABLES, {}, attempt=1, main_index=0)


async def from_environment(environ: Mapping[str, str], seconds: float) -> Identity:
    """Who this node is; where no variable says anything, the only node of a job named "local".

    Waits up to so many seconds until the main node's name resolves. Raises IdentityError, with the variables seen.
    """
    claim = decide(environ)
    port = number(environ, "MNP_RENDEZVOUS_PORT", range(1, 65536)) or DEFAULT_PORT
    own, main = await address.addresses(claim, seconds)
    return Identity(
        job_id=claim.job_id or "local",
        attempt=claim.attempt or 1,
        index=claim.index or 0,
        main_index=claim.main_index or 0,
        count=claim.count or 1,
        address=own,
        main_address=main,
        port=port,
    )


def decide(environ: Mapping[str, str]) -> Claim:
    """The complete claim that counts. Raises IdentityError."""
    if environ.get(LAUNCHED):
        raise IdentityError(
            f"{LAUNCHED} is set: a launch has started this process, and its secret stays with it, so no launch can"
            " start inside; on this machine alone, `local` can"
        )
    own = explicit.read(environ)
    if own:
        alone = _over(_NOTHING, own)
        if not alone.lacks():
            return _checked(alone)
    found = [claim for claim in (read(environ) for read in _ENVIRONMENTS) if claim]
    if not found and not own:
        return replace(_NOTHING, index=0, count=1)
    claims = [_over(claim, own) if own else claim for claim in found or [_NOTHING]]
    for other in claims[1:]:
        _refuse_contradiction(claims[0], other)
    return _checked(claims[0])


def _over(claim: Claim, own: Claim) -> Claim:
    """The claim, but for what the user's own says."""
    fields = {name: getattr(own, name) for name in own.variables if getattr(own, name) is not None}
    if "main" in fields:
        fields.update(metadata_uri=None, peer=None)
    elif "main_index" in fields and own.main_index != claim.main_index:
        fields.update(main=None, peer=None)
    return replace(
        claim,
        **fields,
        source=own.source if claim is _NOTHING else claim.source,
        variables={**claim.variables, **{name: own.variables[name] for name in fields if name in own.variables}},
        seen={**claim.seen, **own.seen},
    )


def _refuse_contradiction(one: Claim, other: Claim) -> None:
    if (one.index, one.count, one.main_index) == (other.index, other.count, other.main_index):
        return
    words = [
        f"{claim.source} says node {_or_unknown(claim.index)} of {_or_unknown(claim.count)} ({listed(claim.seen)})"
        for claim in (one, other)
    ]
    raise IdentityError(
        f"{', but '.join(words)}: unset what is not meant, or set MNP_NODE_INDEX, MNP_NODE_COUNT, MNP_JOB_ID"
        " and MNP_MAIN_ADDRESS, which count before both"
    )


def _or_unknown(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _checked(claim: Claim) -> Claim:
    missing = claim.lacks()
    if missing:
        names = dict.fromkeys(claim.variables.get(field, explicit.VARIABLES[field]) for field in missing)
        by_hand = [explicit.VARIABLES[field] for field in missing]
        fix = "" if all(name.startswith("MNP_") for name in names) else f"; or set {', '.join(by_hand)} yourself"
        verb = "is" if len(names) == 1 else "are"
        raise IdentityError(f"{claim.source}: {', '.join(names)} {verb} not set (seen: {listed(claim.seen)}){fix}")
    for field in ("index", "main_index"):
        value, count = getattr(claim, field), claim.count or 0
        if value >= count:
            name = claim.variables.get(field, explicit.VARIABLES[field])
            allowed = f"0 to {count - 1}"
            raise IdentityError(f"{name} says node {value} of {count}; allowed: {allowed} (seen: {listed(claim.seen)})")
    return claim
