"""Which Node the CDK's Python library runs: to be said before aws_cdk is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def pinned_node() -> str:
    """The Node that was installed beside Python, or else the one of PATH, which may be past what jsii supports."""
    beside = Path(sys.executable).with_name("node")
    return str(beside) if beside.exists() else "node"


def use_pinned_node() -> None:
    """Have jsii run it, unless the environment names another one."""
    os.environ.setdefault("JSII_NODE", pinned_node())
