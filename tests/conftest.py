"""No test may reach a real AWS account, and jsii gets the Node that the project pins."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from stacks.jsii_node import pinned_node
from tests.hosts.lab import Lab, why_not

os.environ.update(
    {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_PAGER": "",
        "JSII_NODE": pinned_node(),
    }
)
for _name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "MNP_CLUSTER"):
    os.environ.pop(_name, None)

# A shell has its background jobs ignore Ctrl-C, and what the tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that take long, so that no worker is left with one at the end."""
    order = {item.path: 2 for item in items}
    for number, marker in ((1, "end_to_end"), (0, "slow")):
        order |= {item.path: number for item in items if item.get_closest_marker(marker)}
    items.sort(key=lambda item: order[item.path])


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Two hosts; skips, and says why, where this machine can have none."""
    if reason := why_not():
        pytest.skip(reason)
    with Lab(2) as found:
        yield found
