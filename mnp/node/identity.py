"""Who this node is among the job's nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import network

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PORT = 18520
_MAIN_ADDRESS = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"
_REQUIRED = (
    "AWS_BATCH_JOB_ID",
    "AWS_BATCH_JOB_ATTEMPT",
    "AWS_BATCH_JOB_NUM_NODES",
    "AWS_BATCH_JOB_NODE_INDEX",
    "AWS_BATCH_JOB_MAIN_NODE_INDEX",
)


class IdentityError(Exception):
    """The variables do not say who this node is."""


@dataclass(frozen=True)
class Identity:
    """One node of one attempt of one job. `port` is where the main node listens for the others."""

    job_id: str
    attempt: int
    index: int
    main_index: int
    count: int
    address: str
    main_address: str
    port: int

    @property
    def is_main(self) -> bool:
        """Whether the other nodes report to this one."""
        return self.index == self.main_index


def from_environment(environ: Mapping[str, str]) -> Identity:
    """Who this node is, from AWS Batch's variables; without them, the only node of a job named "local".

    Batch gives every node all of these but the main node's address, which only the others get:
    https://docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html (2026-11-21). Raises IdentityError.
    """
    port = _number(environ, "MNP_RENDEZVOUS_PORT", default=DEFAULT_PORT, allowed=range(1, 65536))
    if not any(environ.get(name) for name in (*_REQUIRED[2:], _MAIN_ADDRESS)):
        job_id = environ.get("AWS_BATCH_JOB_ID") or "local"
        attempt = _number(environ, "AWS_BATCH_JOB_ATTEMPT", default=1, allowed=range(1, 1000))
        address = _own_address(environ, "")
        return Identity(job_id.partition("#")[0], attempt, 0, 0, 1, address, address, port)
    missing = [name for name in _REQUIRED if not environ.get(name)]
    if missing:
        raise IdentityError(f"{', '.join(missing)} is not set, but {_seen(environ)}; AWS Batch sets all of them")
    count = _number(environ, "AWS_BATCH_JOB_NUM_NODES", allowed=range(1, 100_001))
    index = _number(environ, "AWS_BATCH_JOB_NODE_INDEX", allowed=range(count))
    main_index = _number(environ, "AWS_BATCH_JOB_MAIN_NODE_INDEX", allowed=range(count))
    job_id, _, suffix = environ["AWS_BATCH_JOB_ID"].partition("#")
    if suffix and suffix != str(index):
        raise IdentityError(f"AWS_BATCH_JOB_ID names node {suffix}, but the node index differs: {_seen(environ)}")
    main_address = environ.get(_MAIN_ADDRESS, "")
    if index != main_index and not main_address:
        raise IdentityError(f"{_MAIN_ADDRESS} is not set on a node that is not the main node: {_seen(environ)}")
    address = _own_address(environ, "" if index == main_index else main_address)
    return Identity(
        job_id=job_id,
        attempt=_number(environ, "AWS_BATCH_JOB_ATTEMPT", allowed=range(1, 1000)),
        index=index,
        main_index=main_index,
        count=count,
        address=address,
        main_address=address if index == main_index else main_address,
        port=port,
    )


def _own_address(environ: Mapping[str, str], main_address: str) -> str:
    metadata = environ.get("ECS_CONTAINER_METADATA_URI_V4")
    routed = network.address_towards(main_address) if main_address else network.address_towards()
    return (metadata and network.ecs_address(metadata)) or routed or network.host_name_address()


def _number(environ: Mapping[str, str], name: str, *, allowed: range, default: int | None = None) -> int:
    text = environ.get(name, "")
    if not text and default is not None:
        return default
    if not (text.isascii() and text.isdigit() and int(text) in allowed):
        raise IdentityError(f"{name} is {text!r}; allowed: {allowed.start} to {allowed.stop - 1} ({_seen(environ)})")
    return int(text)


def _seen(environ: Mapping[str, str]) -> str:
    names = [name for name in sorted(environ) if name.startswith("AWS_BATCH_JOB_")]
    return "seen: " + (", ".join(f"{name}={environ[name]}" for name in names) or "none of AWS_BATCH_JOB_*")
