"""The session with which verbs talk to AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
import botocore.session
from botocore.config import Config

from mnp import __version__

if TYPE_CHECKING:
    from botocore.client import BaseClient

_CONFIG = Config(
    # Adaptive mode slows down when AWS throttles; AWS_MAX_ATTEMPTS sets the number of attempts as for any AWS tool.
    retries={"mode": "adaptive"},
    connect_timeout=10,
    read_timeout=30,
    user_agent_extra=f"mnp/{__version__}",
)


def aws_session(region: str | None) -> boto3.Session:
    """Return a session with the caller's own credentials; every client made from it gets our retries and timeouts."""
    core = botocore.session.get_session()
    core.set_default_client_config(_CONFIG)
    return boto3.Session(botocore_session=core, region_name=region)


def is_local(client: BaseClient) -> bool:
    """Whether the client talks to an AWS on this machine, which answers at once and costs nothing to ask."""
    return client.meta.endpoint_url.startswith(("http://localhost", "http://127.0.0.1", "http://[::1]"))
