"""`mnp local`: up, status, down, with a server process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.command_line import CommandLine


@pytest.fixture
def local(mnp: CommandLine, tmp_path: Path) -> Iterator[CommandLine]:
    """`mnp` whose AWS on localhost is this test's own, stopped at its end."""
    command = CommandLine(
        {"PATH": mnp.environ["PATH"], "HOME": str(tmp_path), "MNP_LOCAL_DIR": str(tmp_path / "local")}
    )
    yield command
    command("local", "down")


def test_up_sets_a_shell_up(local: CommandLine) -> None:
    """`eval "$(mnp local up)"` points any AWS tool at the server, whatever was set before."""
    started = local("local", "up")
    assert started.returncode == 0, started.stderr
    program = "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"
    shell = subprocess.run(
        ["/bin/sh", "-c", f'{started.stdout}\n"{sys.executable}" -c "{program}"'],
        env={"PATH": local.environ["PATH"], "AWS_PROFILE": "mine", "AWS_SESSION_TOKEN": "mine"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shell.stdout, shell.stderr) == ("123456789012\n", "")


def test_up_twice_is_once(local: CommandLine) -> None:
    """A second `up` starts nothing and prints the same."""
    assert local("local", "up").stdout == local("local", "up").stdout


def test_down_stops_it(local: CommandLine) -> None:
    """After `down` nothing runs; status says so with exit code 1, and another `down` is no error."""
    local("local", "up")
    running = local("local", "status", "--json")
    assert (running.returncode, json.loads(running.stdout)["region"]) == (0, "us-east-1")
    assert local("local", "down").returncode == 0
    stopped = local("local", "status", "--json")
    assert (stopped.returncode, json.loads(stopped.stdout)) == (1, None)
    assert local("local", "down").returncode == 0


def test_a_port_that_is_taken_is_an_error(local: CommandLine, unused_port: int) -> None:
    """Where another program has the port, `up` says which and starts nothing."""
    done = local("local", "up", "--port", str(unused_port))
    assert (done.returncode, done.stdout) == (1, "")
    assert str(unused_port) in done.stderr
    assert "Traceback" not in done.stderr


def test_without_moto_the_extra_is_named(local: CommandLine, tmp_path: Path) -> None:
    """In an installation without the extra `local`, the message says how to get it."""
    program = "import sys; sys.modules['moto'] = None; from mnp.commands.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "local", "up"], env=local.environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'mnp[local]'" in done.stderr
