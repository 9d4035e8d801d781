"""The programs that launches start beside the user's command, as processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mnp.node import network
from mnp.node.launchers import programs

FOLDER = Path(programs.__file__).parent


def start(name: str, *arguments: str, environ: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the program by its file, as a launch does."""
    return subprocess.Popen(
        [sys.executable, FOLDER / name, *arguments],
        env={**os.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_await_port_returns_once_the_port_is_open() -> None:
    """A port that listens is enough; nothing is sent to it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert finish(start("await_port.py", "0", "127.0.0.1", str(port), "60")) == (0, "", "")


def test_await_port_names_the_main_node_and_the_port() -> None:
    """A port that stays closed is a failure that says where one has to look."""
    port = network.free_port()
    code, _, errors = finish(start("await_port.py", "3", "127.0.0.1", str(port), "0"))
    expected = f"mnp: main node 3 (127.0.0.1) did not open port {port} within 0 s: [Errno 111] Connection refused\n"
    assert (code, errors) == (1, expected)


def local_ranks(script: str) -> subprocess.Popen[str]:
    return start("local_ranks.py", "2", "sh", "-c", script, environ={"RANK": "6"})


def test_local_ranks_differ() -> None:
    """Each process has its own rank, in the world and on the node."""
    code, output, _ = finish(local_ranks('echo "$RANK $LOCAL_RANK"'))
    assert (code, sorted(output.splitlines())) == (0, ["6 0", "7 1"])


@pytest.mark.parametrize(("end", "expected"), [("exit 7", 7), ("kill -KILL $$", 137)])
def test_first_failure_ends_the_other_ranks(end: str, expected: int) -> None:
    """Its exit code is the result, and the rank that would run on is gone."""
    code, output, _ = finish(local_ranks(f"[ $LOCAL_RANK = 0 ] && {end}; echo $$; exec sleep 600"))
    assert code == expected
    assert [pid for pid in output.split() if alive(int(pid))] == []


def test_command_that_is_not_there() -> None:
    """The exit code is a shell's, and the message names the command."""
    code, _, errors = finish(start("local_ranks.py", "2", "/no/such", environ={"RANK": "0"}))
    assert (code, errors) == (127, "mnp: cannot start /no/such: [Errno 2] No such file or directory: '/no/such'\n")


def ray_head(head: str, *commands: Sequence[str]) -> subprocess.Popen[str]:
    """The program with shell commands in place of Ray's head, the wait for its port and the count of its nodes."""
    separated = [word for command in commands for word in ("--", *command)]
    return start("ray_head.py", "sh", "-c", head, *separated)


def test_ray_head_runs_the_commands_in_order_and_ends_the_head() -> None:
    """The last command keeps a `--` of its own; the head is gone when all is over."""
    head = "echo $$ >&2; exec sleep 600"
    code, output, errors = finish(ray_head(head, ["echo", "port"], ["echo", "nodes"], ["echo", "a", "--", "b"]))
    assert (code, output.splitlines()) == (0, ["port", "nodes", "a -- b"])
    assert not alive(int(errors))


def test_a_step_that_fails_is_the_last() -> None:
    """The command does not start in a cluster that is not whole."""
    code, output, _ = finish(ray_head("exec sleep 600", ["true"], ["sh", "-c", "exit 3"], ["echo", "started"]))
    assert (code, output) == (3, "")


def test_the_end_of_rays_head_ends_the_command(tmp_path: Path) -> None:
    """A command without its cluster would wait for a minute, or for ever."""
    started = tmp_path / "started"
    os.mkfifo(started)
    command = ["sh", "-c", f"echo $$; echo >{started}; exec sleep 600"]
    code, output, errors = finish(ray_head(f"read line <{started}; exit 4", command, ["true"], ["true"]))
    assert (code, errors) == (1, "mnp: Ray's head node ended by itself (exit code 4)\n")
    assert not alive(int(output))


def test_sigterm_ends_command_and_head() -> None:
    """Nothing of either is left."""
    running = ray_head("echo $$; exec sleep 600", ["true"], ["true"], ["sh", "-c", "echo $$; exec sleep 600"])
    assert running.stdout is not None
    pids = [int(running.stdout.readline()) for _ in range(2)]
    running.send_signal(signal.SIGTERM)
    code, _, _ = finish(running)
    assert code == 128 + signal.SIGTERM
    assert [pid for pid in pids if alive(pid)] == []
