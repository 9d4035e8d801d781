"""The node code runs in any image with python3."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import mnp.node

SOURCES = sorted(Path(mnp.node.__file__).parent.rglob("*.py"))
ALLOWED = {"all_reduce.py": {"torch"}, "ray_nodes.py": {"ray"}}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_imports_are_relative_or_standard_library(source: Path) -> None:
    """No module needs anything but Python itself; torch only where the workers measure."""
    foreign = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            foreign |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            foreign.add((node.module or "").partition(".")[0])
    assert foreign - sys.stdlib_module_names == ALLOWED.get(source.name, set())


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_sources_are_python_3_9(source: Path) -> None:
    """The oldest Python that may run a node can read every module."""
    ast.parse(source.read_text(), feature_version=(3, 9))


def test_s3_stands_alone_and_is_small() -> None:
    """s3.py travels as text in the job definition, which AWS Batch limits to 24 KiB in all."""
    source = Path(mnp.node.__file__).with_name("s3.py")
    assert source.stat().st_size < 8192
    relative = [
        node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []
