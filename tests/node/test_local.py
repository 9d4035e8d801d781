"""A job on this machine alone, by real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from mnp.node import local as local_verb
from mnp.node.local import launch_options, local, node_variables

INHERITED = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MNP_"))}


def start(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mnp.node", "local", *arguments],
        env={**INHERITED, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        (["--nodes", "4", "--grace", "3"], ["--grace", "3"]),
        (["--with", "torchrun", "--nodes=4"], ["--with", "torchrun"]),
    ],
)
def test_all_options_but_the_number_of_nodes_are_launchs(given: Sequence[str], expected: Sequence[str]) -> None:
    """Each node gets the options as they are, and env as the launcher before them."""
    assert launch_options(given) == ["--with", "env", *expected]


def test_the_nodes_share_a_job_and_nothing_of_another_one() -> None:
    """What says who this process is in another job, and that job's secret, stays out; each job has its own."""
    outer = {
        "MNP_LAUNCHED": "1",
        "MNP_SECRET_FILE": "/s",
        "MNP_NODE_DOWNLOADED": "/z",
        "MNP_MAIN_ADDRESS": "x",
        "A": "b",
    }
    nodes = node_variables(2, outer)
    assert [node.pop("MNP_NODE_INDEX") for node in nodes] == ["0", "1"]
    assert nodes[0] == nodes[1]
    assert nodes[0]["A"] == "b"
    assert nodes[0]["MNP_MAIN_ADDRESS"] == "127.0.0.1"
    assert not {"MNP_LAUNCHED", "MNP_SECRET_FILE", "MNP_NODE_DOWNLOADED"} & set(nodes[0])
    other = node_variables(2, outer)[0]
    assert len({node["MNP_SECRET"] for node in (nodes[0], other)}) == 2
    assert len({node["MNP_JOB_ID"] for node in (nodes[0], other)}) == 2


def test_long_and_unfinished_lines_come_out(capfd: pytest.CaptureFixture[str]) -> None:
    """Each line has its node in front, one without an end too, and an endless one comes in parts."""

    async def relay() -> None:
        stream = asyncio.StreamReader()
        stream.feed_data(b"a\n\nb" + b"x" * 100_000)
        stream.feed_data(b"y\nlast")
        stream.feed_eof()
        await local_verb._relay(stream, b"[node 1] ")

    asyncio.run(relay())
    lines = capfd.readouterr().out.splitlines()
    assert lines[:2] == ["[node 1] a", "[node 1] "]
    assert lines[-1] == "[node 1] last"
    assert "".join(line.removeprefix("[node 1] ") for line in lines[2:-1]) == "b" + "x" * 100_000 + "y"


def test_a_node_that_dies_early_ends_the_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """When one node fails and the others do not notice, they are stopped after a while, and its exit code stays."""
    program = "import os, time; os.environ['MNP_NODE_INDEX'] == '1' and exit(5); time.sleep(600)"
    monkeypatch.setattr(local_verb, "_this_program", lambda: [sys.executable, "-c", program])
    monkeypatch.setattr(local_verb, "_OTHERS_SECONDS", 0.1)
    assert asyncio.run(local(3, [], ["true"], dict(INHERITED), grace=0)) == 5
    assert "failed: node 1 ended with exit code 5, and 0.1 s later these still ran: 0, 2" in capfd.readouterr().out


@pytest.mark.end_to_end
def test_every_node_runs_the_command_and_signs_its_lines() -> None:
    """Each line, also of stderr, says which node wrote it, whatever job this machine is part of."""
    program = (
        "import os, sys; print('rank', os.environ['RANK']); print('of', os.environ['WORLD_SIZE'], file=sys.stderr)"
    )
    batch = {"AWS_BATCH_JOB_ID": "outer#1", "AWS_BATCH_JOB_NODE_INDEX": "1", "AWS_BATCH_JOB_NUM_NODES": "9"}
    process = start("--nodes", "3", "--", sys.executable, "-c", program, **batch, MNP_LAUNCHED="1")
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0, output
    assert all(line.startswith("[node ") for line in output.splitlines())
    expected = {f"[node {node}] {text}" for node in range(3) for text in (f"rank {node}", "of 3")}
    assert expected <= set(output.splitlines())


@pytest.mark.end_to_end
def test_the_exit_code_is_the_failing_nodes() -> None:
    """One node's failure ends all of them, and its exit code is the command's."""
    program = "import os, signal; os.environ['RANK'] == '1' and exit(9); signal.pause()"
    process = start("--", sys.executable, "-c", program)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 9
    assert "[node 0] [mnp] failed: node 1 (127.0.0.1): its process ended with exit code 9" in output


@pytest.mark.end_to_end
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_every_node(number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM reaches the command on all nodes, and nothing is left running."""
    program = (
        "import signal; signal.signal(15, lambda *_: (print('got it', flush=True), exit(0)));"
        " print('running', flush=True); signal.pause()"
    )
    process = start("--", sys.executable, "-c", program)
    assert process.stdout is not None
    waited: set[str] = set()
    while not {"[node 0] running\n", "[node 1] running\n"} <= waited:
        line = process.stdout.readline()
        assert line, waited
        waited.add(line)
    process.send_signal(number)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 128 + signal.SIGTERM
    assert {"[node 0] got it", "[node 1] got it"} <= set(output.splitlines())
