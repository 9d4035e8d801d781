"""The demo's own manners, with a stand-in for the cdk CLI: what it shows, and that it leaves nothing behind."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).parents[2] / "examples" / "demo.yaml"
TIMEOUT_SECONDS = 120


@contextmanager
def demo(folder: Path, cdk: str) -> Iterator[subprocess.Popen[str]]:
    """Run the demo in an empty folder whose `cdk` is this shell script."""
    path = folder / "node_modules" / ".bin" / "cdk"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{cdk}\n")
    path.chmod(0o755)
    command = [sys.executable, "-m", "mnp.local_aws.demo", str(EXAMPLE)]
    environ = {"PATH": os.environ["PATH"], "AWS_SESSION_TOKEN": "mine", "TMPDIR": str(folder)}
    with subprocess.Popen(command, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def is_up(endpoint_url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(endpoint_url.rpartition(":")[2]))) == 0


def test_a_failed_step_is_named_with_the_end_of_its_output(tmp_path: Path) -> None:
    """When cdk fails, the demo ends with 1 and says which step, what cdk said last, and where the logs are."""
    script = 'echo "token: $AWS_SESSION_TOKEN endpoint: $AWS_ENDPOINT_URL"; echo no such thing >&2; exit 3'
    with demo(tmp_path, script) as process:
        _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 1
    assert "  no such thing\n" in said
    assert "error: `cdk bootstrap`: ended with exit code 3" in said
    assert "logs: .mnp/demo" in said
    found = re.search(r"token:  endpoint: (http://localhost:\d+)", said)
    assert found, "the caller's own AWS settings must not reach the commands"
    assert not is_up(found[1])
    assert not list(tmp_path.glob("mnp-*")), "temporary files are left"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C stops the command under way and the AWS on localhost, and ends with 130."""
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    pipe = os.open(fifo, os.O_RDWR)
    with demo(tmp_path, f'echo "$$ $AWS_ENDPOINT_URL" > {fifo}; exec sleep 600') as process:
        assert select.select([pipe], [], [], TIMEOUT_SECONDS)[0], "cdk was never started"
        pid, endpoint_url = os.read(pipe, 1000).decode().split()
        os.close(pipe)
        assert is_up(endpoint_url)
        process.send_signal(number)
        _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, "interrupted" in said) == (130, True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    assert not is_up(endpoint_url)
    assert not list(tmp_path.glob("mnp-*")), "temporary files are left"
