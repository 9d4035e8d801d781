"""An AWS on localhost, and `mnp` set up to talk to it and to nothing else."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest

from mnp.local_aws.server import LocalAws
from tests.commands.batch_cluster import BatchCluster, make_cluster
from tests.commands.command_line import CommandLine


# Not for the session: a process holds one embedded AWS at a time, and other folders start their own.
@pytest.fixture(scope="module")
def local_aws() -> Iterator[LocalAws]:
    with LocalAws(container_stop_timeout=1) as running:
        yield running


@pytest.fixture
def mnp(tmp_path: Path, local_aws: LocalAws) -> CommandLine:
    """The command with the environment of somebody who uses the AWS on localhost, and no files of their own."""
    given = local_aws.environment()
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AWS_MAX_ATTEMPTS": "1"}
    return CommandLine({**given, **own})


def session_of(local_aws: LocalAws) -> boto3.Session:
    environ = local_aws.environment()
    return boto3.Session(environ["AWS_ACCESS_KEY_ID"], environ["AWS_SECRET_ACCESS_KEY"], region_name=local_aws.region)


@pytest.fixture
def put_parameter(local_aws: LocalAws) -> Callable[[str, str, str], None]:
    """Returns a function that writes an SSM parameter: region, name, value."""

    def put(region: str, name: str, value: str) -> None:
        ssm = session_of(local_aws).client("ssm", region_name=region, endpoint_url=local_aws.endpoint_url)
        ssm.put_parameter(Name=name, Value=value, Type="String", Overwrite=True)
        ssm.close()

    return put


@pytest.fixture
def cluster(local_aws: LocalAws) -> BatchCluster:
    """A cluster of up to three nodes, with a name of its own, a bucket, and no smoke test and no contract yet."""
    return make_cluster(session_of(local_aws), local_aws.endpoint_url, f"test-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port on which nothing listens: it stays bound, so that nobody else takes it meanwhile."""
    with socket.socket() as bound:
        bound.bind(("localhost", 0))
        yield bound.getsockname()[1]
