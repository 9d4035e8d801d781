from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mnp.local_aws import LocalAws
from tests.local_aws.support import Aws, Cluster, Stack, make_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    """An embedded AWS that all tests of a module share; they use names of their own."""
    with LocalAws(container_stop_timeout=2) as server:
        clients = Aws(server)
        yield clients
        clients.close()


@pytest.fixture(scope="module")
def cluster(aws: Aws) -> Cluster:
    return make_cluster(aws)


@pytest.fixture
def stack(aws: Aws) -> Stack:
    return Stack(aws)
