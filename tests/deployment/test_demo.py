"""`make demo`, by the command that it runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.synth import ROOT

pytestmark = pytest.mark.end_to_end


def processes_with(mark: str) -> list[str]:
    """Command lines of the processes that inherited the mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes left behind in /proc")
def test_the_demo_shows_a_verdict_of_four_nodes_and_leaves_nothing_running() -> None:
    """The README's first command deploys, verifies, runs on four nodes, judges, and stops all that it started."""
    mark = f"demo-{uuid.uuid4()}"
    command = [sys.executable, "-m", "mnp.local_aws.demo", "examples/demo.yaml"]
    environ = os.environ | {"DEMO_MARK": mark}
    result = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=400, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^# +size +count +type +redop +time +algbw +busbw +#wrong$", result.stdout, re.MULTILINE)
    assert re.search(r"^NOT_GRADED: 4 nodes, 4 ranks: every sum is right", result.stdout, re.MULTILINE)
    document = json.loads((ROOT / ".mnp" / "demo" / "result.json").read_text())
    assert {rank["node"] for rank in document["ranks"]} == {0, 1, 2, 3}
    assert processes_with(mark) == []
