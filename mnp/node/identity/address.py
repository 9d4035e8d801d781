"""The addresses of this node and of the main node, in the network that joins the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import network
from .claim import listed
from .identity import IdentityError

if TYPE_CHECKING:
    from .claim import Claim

_TRY_ONCE = 0.0  # seconds


async def addresses(claim: Claim, seconds: float) -> tuple[str, str]:
    """This node's own address, and where the main node is. Raises IdentityError.

    Waits up to so many seconds until the main node's name resolves: in Kubernetes it does once that pod is there.
    """
    told = network.ecs_address(claim.metadata_uri) if claim.metadata_uri else None
    if claim.is_main:
        address = told or await _of_main_node(claim)
        return address, address
    main = claim.main or ""
    try:
        found = await network.resolve(main, seconds)
    except OSError as error:
        raise IdentityError(
            f"main node {claim.main_index}: {main} has no address after {seconds:g} s: {error}; set MNP_MAIN_ADDRESS to"
            f" its address (seen: {listed(claim.seen)})"
        ) from None
    own = told or network.address_towards(found)
    if own is None:
        raise IdentityError(f"no route to main node {claim.main_index} at {found} (seen: {listed(claim.seen)})")
    return own, main


async def _of_main_node(claim: Claim) -> str:
    """The address at which the others find this main node: what they are told, else that of the way to one of them."""
    if claim.main:
        named = await _resolved(claim.main)
        meant = named is not None and claim.main in {named, "localhost"}
        if named and network.is_own(named) and (meant or not network.is_loopback(named)):
            return named
        if meant:
            raise IdentityError(f"this is the main node, but has no address {named} (seen: {listed(claim.seen)})")
    peer = await _resolved(claim.peer) if claim.peer else None
    towards_peer = network.address_towards(peer) if peer and not network.is_loopback(peer) else None
    own = towards_peer or network.address_towards() or network.host_name_address()
    if claim.count != 1 and network.is_loopback(own):
        raise IdentityError(
            f"this main node has no address but {own}, where no other node finds it: set MNP_MAIN_ADDRESS to the one"
            f" that they do (seen: {listed(claim.seen)})"
        )
    return own


async def _resolved(name: str) -> str | None:
    try:
        return await network.resolve(name, _TRY_ONCE)
    except OSError:
        return None
