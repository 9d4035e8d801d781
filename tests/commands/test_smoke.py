"""`mnp smoke` from submission to verdict, on real processes of the embedded AWS."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

from tests.commands.batch_cluster import BatchCluster, result
from tests.commands.command_line import TIMEOUT_SECONDS, CommandLine

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB_ID = re.compile(r"^job ([0-9a-f-]{36}):", re.MULTILINE)


@contextmanager
def started(mnp: CommandLine, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start `mnp` and leave it running; it is ended with the block."""
    process = subprocess.Popen(
        mnp.command(*arguments), env=mnp.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_until(stream: IO[str] | None, text: str) -> str:
    """Return the lines up to the one that holds `text`."""
    assert stream is not None
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            return "".join(lines)
    raise AssertionError(f"{text!r} never came: {lines}")


@pytest.mark.parametrize("status", ["PASS", "DEGRADED", "NOT_GRADED"])
def test_a_good_run_ends_with_zero(mnp: CommandLine, cluster: BatchCluster, status: str) -> None:
    """Table and verdict go to standard output; job id, progress and the result's place to standard error."""
    cluster.set_smoke_test(RESULT=result(status))
    done = mnp("smoke", "--cluster", cluster.name)
    assert done.returncode == 0, done.stderr
    assert "1048576       262144  float    sum     610.50     1.72     1.72       0" in done.stdout
    assert f"{status}: two nodes agree" in done.stdout
    assert JOB_ID.search(done.stderr)
    assert "SUCCEEDED" in done.stderr
    assert "result: the main node's log" in done.stderr


def test_json_stands_alone_on_standard_output(mnp: CommandLine, cluster: BatchCluster, tmp_path: Path) -> None:
    """--json prints the result document only, and --output writes the same."""
    cluster.set_smoke_test(RESULT=result())
    done = mnp("smoke", "--cluster", cluster.name, "--json", "--output", str(tmp_path / "result.json"))
    assert (done.returncode, json.loads(done.stdout)) == (0, json.loads(result()))
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(result())


def test_a_bad_verdict_ends_with_one(mnp: CommandLine, cluster: BatchCluster) -> None:
    """FAIL is shown with its reason and its fix."""
    cluster.set_smoke_test(RESULT=result("FAIL"), EXIT="1")
    done = mnp("smoke", "--cluster", cluster.name)
    assert done.returncode == 1
    assert "FAIL: two nodes agree" in done.stdout
    assert "fix: use EFA" in done.stdout
    assert "exit code of the main node: 1" in done.stderr


def test_a_job_that_dies_shows_why(mnp: CommandLine, cluster: BatchCluster) -> None:
    """Without a result the message says so, with status, reason, exit code and the log's last lines."""
    cluster.set_smoke_test(EXIT="3")
    done = mnp("smoke", "--cluster", cluster.name)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ended FAILED" in done.stderr
    assert "exit code of the main node: 3" in done.stderr
    assert "It left no result" in done.stderr
    assert "  [mnp] all-reduce 1/2: 8 B  12.3 us  busbw 0.01 GB/s\n" in done.stderr


def test_a_job_that_ends_well_without_a_result_has_failed(mnp: CommandLine, cluster: BatchCluster) -> None:
    """Exit code 0 of the job alone proves nothing."""
    cluster.set_smoke_test()
    done = mnp("smoke", "--cluster", cluster.name, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "It left no result" in done.stderr


def test_options_reach_the_job(mnp: CommandLine, cluster: BatchCluster) -> None:
    """--nodes and --max-bytes are what the job runs with."""
    cluster.set_smoke_test(EXIT="1")
    done = mnp("smoke", "--cluster", cluster.name, "--nodes", "3", "--max-bytes", "64M")
    assert "  options: --max-bytes 64M\n" in done.stderr
    found = JOB_ID.search(done.stderr)
    assert found
    assert cluster.batch.describe_jobs(jobs=[found[1]])["jobs"][0]["nodeProperties"]["numNodes"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nodes", "4"], "1 to 3 nodes"),
        (["--nodes", "0"], "1 to 3 nodes"),
        (["--max-bytes", "much"], "is not a size"),
        (["--job", "x", "--nodes", "2"], "--job comes back"),
        (["--job", "00000000-0000-0000-0000-000000000000"], "knows no job"),
    ],
)
def test_wrong_usage_submits_nothing(mnp: CommandLine, cluster: BatchCluster, arguments: list[str], said: str) -> None:
    """A wrong option ends with 2 and a message, and no job is started."""
    cluster.set_smoke_test()
    done = mnp("smoke", "--cluster", cluster.name, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not JOB_ID.search(done.stderr)


def test_another_job_is_not_taken_for_a_smoke_test(mnp: CommandLine, cluster: BatchCluster) -> None:
    """--job with the id of some other job ends with 2 and says what that job is."""
    cluster.set_smoke_test()
    other = cluster.batch.register_job_definition(
        jobDefinitionName=f"{cluster.name}-other",
        type="container",
        containerProperties={
            "image": "none",
            "command": ["true"],
            "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}],
        },
    )["jobDefinitionArn"]
    job = cluster.batch.submit_job(jobName="x", jobQueue=cluster.name, jobDefinition=other)["jobId"]
    done = mnp("smoke", "--cluster", cluster.name, "--job", job)
    assert (done.returncode, done.stdout) == (2, "")
    assert "other:1" in done.stderr


def test_ctrl_c_leaves_the_job_to_come_back_to(mnp: CommandLine, cluster: BatchCluster, tmp_path: Path) -> None:
    """Ctrl-C ends with 130 and says how to come back; the job runs on, and --job shows it to its end."""
    hold = tmp_path / "hold"
    cluster.set_smoke_test(RESULT=result(), HOLD=str(hold))
    with started(mnp, "smoke", "--cluster", cluster.name) as process:
        said = read_until(process.stderr, "all-reduce 1/2")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    found = JOB_ID.search(said)
    assert found
    assert (process.returncode, stdout) == (130, "")
    assert f"mnp smoke --cluster {cluster.name} --region us-east-1 --job {found[1]}" in stderr
    assert "aws batch terminate-job" in stderr
    assert cluster.status(found[1]) == "RUNNING"
    hold.touch()
    done = mnp("smoke", "--cluster", cluster.name, "--job", found[1])
    assert (done.returncode, "PASS: two nodes agree" in done.stdout) == (0, True)


def test_a_result_that_is_not_in_the_log_comes_from_s3(mnp: CommandLine, cluster: BatchCluster, tmp_path: Path) -> None:
    """Where the log holds no result, the object with the job's id does, and the message says so."""
    hold = tmp_path / "hold"
    cluster.set_smoke_test(HOLD=str(hold))
    with started(mnp, "smoke", "--cluster", cluster.name, "--json") as process:
        found = JOB_ID.search(read_until(process.stderr, "all-reduce 1/2"))
        assert found
        folder = f"results/smoke/{cluster.name}"
        for name, document in (("90000101T000000Z-another", "{}"), (f"80000101T000000Z-{found[1]}", result())):
            cluster.s3.put_object(Bucket=cluster.name, Key=f"{folder}/{name}.json", Body=document)
        hold.touch()
        stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, json.loads(stdout)) == (0, json.loads(result()))
    assert f"result: s3://{cluster.name}/{folder}/80000101T000000Z-{found[1]}.json" in stderr


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_a_live_display(mnp: CommandLine, cluster: BatchCluster, *, no_color: bool) -> None:
    """On a terminal the display moves and the verdict is coloured, unless NO_COLOR is set; a pipe gets plain lines."""
    cluster.set_smoke_test(RESULT=result("FAIL"))
    arguments = ("smoke", "--cluster", cluster.name)
    assert "\x1b" not in "".join((piped := mnp(*arguments)).stdout + piped.stderr)
    controller, terminal = pty.openpty()
    environ = {**mnp.environ, "TERM": "xterm-256color", **({"NO_COLOR": "1"} if no_color else {})}
    with subprocess.Popen(
        mnp.command(*arguments), env=environ, stdout=terminal, stderr=terminal, stdin=terminal
    ) as process:
        os.close(terminal)
        shown = _read_terminal(controller)
    assert process.returncode == 1
    assert "\x1b[?25l" in shown, "the cursor is hidden while the display moves"
    assert "all-reduce" in shown
    assert ("\x1b[1;31mFAIL\x1b[0m: two nodes agree" in shown) is not no_color


def _read_terminal(controller: int) -> str:
    chunks = []
    try:
        while chunk := os.read(controller, 65536):
            chunks.append(chunk)
    except OSError:
        pass  # Linux says so when the last process has left the terminal
    finally:
        os.close(controller)
    return b"".join(chunks).decode()
