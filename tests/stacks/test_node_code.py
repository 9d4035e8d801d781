from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from stacks.node_code import MNP, write_zip_application

# What has to fit into memory of the smallest image, and into a reader's patience.
MOST_BYTES = 100_000


def test_equal_code_makes_an_equal_archive(tmp_path: Path) -> None:
    """A checkout at another time or place uploads nothing new and changes no job definition."""
    for name in ("one", "two"):
        write_zip_application(tmp_path / name)
    os.utime(MNP / "node" / "__init__.py")
    write_zip_application(tmp_path / "three")
    contents = {(tmp_path / name).read_bytes() for name in ("one", "two", "three")}
    assert len(contents) == 1


def test_the_archive_is_small_and_holds_the_node_code_alone(tmp_path: Path) -> None:
    """What travels to every node is the node's code, not the package's."""
    write_zip_application(tmp_path / "node.zip")
    assert (tmp_path / "node.zip").stat().st_size < MOST_BYTES
    names = zipfile.ZipFile(tmp_path / "node.zip").namelist()
    assert all(name in {"__main__.py", "mnp/__init__.py"} or name.startswith("mnp/node/") for name in names)


def test_the_archive_runs_by_itself(tmp_path: Path) -> None:
    """Python and the archive are all that an image needs: no package of ours, no site-packages."""
    write_zip_application(tmp_path / "node.zip")
    command = [sys.executable, "-I", "-S", str(tmp_path / "node.zip"), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "smoke" in result.stdout
