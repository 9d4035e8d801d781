"""Every run has the hosts themselves and the launchers that are quick; `make test-hosts` has all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

QUICK = {"test_lab.py", "test_launcher_matrix.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what takes minutes, and say so."""
    if os.environ.get("MNP_TEST_HOSTS"):
        return
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name not in QUICK:
            item.add_marker(pytest.mark.skip(reason="takes minutes on several hosts: make test-hosts runs it"))
