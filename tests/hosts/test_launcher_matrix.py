"""Every launcher on so many hosts: each rank is there once, all of them were summed, and each host did its share.

`make test` runs what PyTorch and Open MPI do; `make test-frameworks` installs the other frameworks and runs all.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from stacks.node_code import write_zip_application
from tests.hosts.batch_job import run_job
from tests.hosts.lab import Lab, why_not

pytestmark = pytest.mark.end_to_end

PROGRAMS = Path(__file__).parent / "programs"
FRAMEWORKS_PYTHON = os.environ.get("FRAMEWORKS_PYTHON")  # one that has the frameworks; make test-frameworks sets it
SECONDS = 400  # for one cell; it is killed then. DeepSpeed compiles for a minute first
INHERITED = {name: "" for name in os.environ if name.startswith(("AWS_", "MNP_", "RAY_"))}


@dataclass(frozen=True)
class Cell:
    """A launcher with the program that it starts and the module that must be importable for it."""

    launcher: str
    program: str
    module: str
    nodes: tuple[int, ...]
    processes: int = 1
    as_script: bool = False  # the launcher itself starts Python
    expensive: bool = False  # too much for every run: 1.5 s of CPU for each process that imports PyTorch


CELLS = (
    Cell("torchrun", "torch_sum.py", "torch", (2, 4), as_script=True),
    Cell("torchrun", "torch_sum.py", "torch", (1, 8), as_script=True, expensive=True),
    Cell("torchrun", "torch_sum.py", "torch", (2,), processes=2, as_script=True, expensive=True),
    Cell("torchrun-c10d", "torch_sum.py", "torch", (2,), as_script=True),
    Cell("torchrun-c10d", "torch_sum.py", "torch", (1, 4, 8), as_script=True, expensive=True),
    Cell("env", "torch_sum.py", "torch", (1, 2, 4)),
    Cell("env", "torch_sum.py", "torch", (8,), expensive=True),
    Cell("env", "torch_sum.py", "torch", (2,), processes=2),
    Cell("mpirun", "mpi_sum.c", "", (1, 2, 4, 8)),
    Cell("mpirun", "mpi_sum.c", "", (2,), processes=2),
    Cell("ray", "ray_sum.py", "ray", (1, 2, 4, 8)),
    Cell("tensorflow", "tensorflow_sum.py", "tensorflow", (1, 2, 4, 8)),
    Cell("jax", "jax_sum.py", "jax", (1, 2, 4, 8)),
    Cell("deepspeed", "deepspeed_sum.py", "deepspeed", (1, 2, 4, 8), as_script=True),
)
MATRIX = [
    pytest.param(cell, nodes, id=f"{cell.launcher}-{nodes}-nodes-{cell.processes}-processes")
    for cell in CELLS
    for nodes in cell.nodes
]


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node's program, as a job downloads it."""
    target = tmp_path_factory.mktemp("application") / "mnp-node.pyz"
    write_zip_application(target)
    return target


@pytest.fixture(scope="module")
def mpi_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Compile the MPI program, once; skips where that cannot be."""
    target = tmp_path_factory.mktemp("mpi") / "mpi_sum"

    def compiled() -> Path:
        for tool in ("mpirun", "mpicc"):
            if not shutil.which(tool):
                pytest.skip(f"{tool} is not installed (Debian: openmpi-bin, libopenmpi-dev)")
        if not target.exists():
            subprocess.run(["mpicc", "-O1", "-o", target, PROGRAMS / "mpi_sum.c", "-lm"], check=True)
        return target

    return compiled


@functools.cache
def has(python: str, module: str) -> bool:
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", look], check=False).returncode == 0


def python_with(module: str) -> Path:
    """A Python that has the module: this one, or the one with the frameworks. Skips where there is none."""
    found = [python for python in (sys.executable, FRAMEWORKS_PYTHON) if python and has(python, module or "sys")]
    if not found:
        pytest.skip(f"no {module} here: make test-frameworks installs it and runs this")
    return Path(found[0])


@pytest.mark.parametrize(("cell", "nodes"), MATRIX)
def test_every_rank_takes_part_once(
    cell: Cell, nodes: int, application: Path, mpi_program: Callable[[], Path], tmp_path: Path
) -> None:
    """All ranks of all hosts are in the sum that every one of them sees, and no process is left on any host."""
    if reason := why_not():
        pytest.skip(reason)
    if cell.expensive and not FRAMEWORKS_PYTHON:
        pytest.skip("takes half a minute: make test-frameworks runs it")
    python = python_with(cell.module)
    program = [str(PROGRAMS / cell.program)] if cell.module else [str(mpi_program())]
    command = program if cell.as_script or not cell.module else [str(python), *program]
    each = () if cell.processes == 1 else ("--processes-per-node", str(cell.processes))
    launch = ("launch", "--with", cell.launcher, *each)
    variables = {
        **INHERITED,
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        # DeepSpeed compiles a part of itself, once for all cells.
        "DS_ACCELERATOR": "cpu",
        "TORCH_EXTENSIONS_DIR": str(application.with_name("torch-extensions")),
    }
    with Lab(nodes) as lab:
        argv = [str(python), str(application), *launch, "--", *command, str(tmp_path)]
        ended = run_job(lab, argv, variables, SECONDS)
        assert [code for code, _ in ended] == [0] * nodes, "\n".join(output for _, output in ended)
        left = [process for host in lab.hosts for process in host.processes()]
        names = {host.name for host in lab.hosts}
    seen = [json.loads(file.read_text()) for file in tmp_path.glob("*.json")]
    ranks = nodes * cell.processes
    assert sorted(each["rank"] for each in seen) == list(range(ranks))
    assert {(each["world_size"], each["sum"]) for each in seen} == {(ranks, float(2**ranks - 1))}
    assert {name: sum(each["host"] == name for each in seen) for name in names} == dict.fromkeys(names, cell.processes)
    assert left == []
