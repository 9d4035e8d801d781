"""The archive runs on the oldest Python that we promise, and on the newest that this machine has.

Interpreters are looked for on PATH and among pyenv's and uv's; `pyenv install 3.9` or
`uv python install 3.9` brings the oldest to a machine that lacks it, where its tests are skipped.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stacks.node_code import write_zip_application

pytestmark = pytest.mark.end_to_end

OLDEST = (3, 9)
VERSION = "import sys; print(*sys.version_info[:2])"
# The all-reduce needs torch, and __main__ runs; everything else must be importable.
IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import mnp.node
for module in pkgutil.walk_packages(mnp.node.__path__, "mnp.node."):
    if module.name.rpartition(".")[2] not in ("all_reduce", "__main__") and ".programs." not in module.name:
        importlib.import_module(module.name)
        print(module.name)
"""


@functools.cache
def interpreters() -> dict[tuple[int, int], str]:
    """A program for each minor version of Python 3 that is here and runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep) if folder and "shims" not in folder]
    found = [file for folder in folders for file in folder.glob("python3.*")]
    found += [
        *pyenv.glob("versions/3.*/bin/python3"),
        *Path("~/.local/share/uv/python").expanduser().glob("*/bin/python3"),
    ]
    programs = {}
    for file in (*found, Path(sys.executable)):
        if not re.fullmatch(r"python3(\.\d+)?|python", file.name):
            continue
        asked = subprocess.run([str(file), "-I", "-c", VERSION], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            major, minor = asked.stdout.split()
            programs[int(major), int(minor)] = str(file)
    return programs


@pytest.fixture(scope="module", params=["oldest", "newest"])
def python(request: pytest.FixtureRequest) -> str:
    here = interpreters()
    version = OLDEST if request.param == "oldest" else max(here)
    if version not in here:
        pytest.skip(f"no Python {version[0]}.{version[1]} on PATH or in pyenv")
    return here[version]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("zip") / "mnp-node.pyz"
    write_zip_application(target)
    return str(target)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MNP_", "PYTHON"))}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)


def test_every_module_can_be_imported(python: str, archive: str) -> None:
    """No module uses what this Python does not have, at least where it is defined."""
    result = run(python, "-I", "-S", "-W", "error", "-c", IMPORT_ALL, archive)
    assert result.returncode == 0, result.stderr
    assert "mnp.node.identity.slurm" in result.stdout


def test_help_is_shown(python: str, archive: str) -> None:
    """The archive is a program."""
    result = run(python, "-W", "error", archive, "--help")
    assert result.returncode == 0, result.stderr
    assert "launch" in result.stdout


def test_two_nodes_run_a_command(python: str, archive: str) -> None:
    """Rendezvous, launch, supervision and the nodes' outputs work on this Python, and a failure is one."""
    program = "import os; print('rank', os.environ['RANK'], flush=True); exit(int(os.environ['RANK']) * 3)"
    result = run(python, archive, "local", "--nodes", "2", "--", python, "-c", program)
    assert result.returncode == 3, result.stdout + result.stderr
    assert {"[node 0] rank 0", "[node 1] rank 1"} <= set(result.stdout.splitlines())
    assert "Traceback" not in result.stdout + result.stderr
