"""The smoke test with real torchrun and gloo, each node a process on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mnp.node import progress
from mnp.node.__main__ import main
from stacks.node_code import write_zip_application

StartNode = Callable[..., "subprocess.Popen[str]"]
SHAPE = json.dumps({"instance_type": "p5.48xlarge", "gpus": 8, "efa_devices": 32, "vcpus": 192, "memory_mib": 1})
SWEEP = ("--min-bytes", "8", "--max-bytes", "64K", "--step-factor", "64", "--iterations", "2")


@pytest.fixture
def bucket() -> Iterator[tuple[dict[str, str], dict[str, bytes]]]:
    """Environment of a stand-in for S3 that keeps what is put, and what it has kept, by path."""
    kept: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            status = 200 if self.headers["Authorization"].startswith("AWS4-HMAC-SHA256 ") else 403
            kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield (
            {
                "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_port}",
                "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "AKIA",
                "AWS_SECRET_ACCESS_KEY": "key",
                "MNP_RESULTS": "s3://results/prefix",
                "MNP_CLUSTER": "p5-training",
            },
            kept,
        )
        server.shutdown()
        thread.join()


def _result(output: str) -> dict[str, Any]:
    """The document on the last line of a main node's log."""
    last = output.rstrip("\n").splitlines()[-1]
    assert last.startswith(progress.RESULT_PREFIX), output
    document: dict[str, Any] = json.loads(last[len(progress.RESULT_PREFIX) :])
    return document


@pytest.mark.end_to_end
def test_two_nodes_measure_judge_and_upload(
    start_node: StartNode, bucket: tuple[dict[str, str], dict[str, bytes]]
) -> None:
    """Two nodes come together, every sum is right, and the same result is in S3 and on the last line of the log."""
    environ, kept = bucket
    environ = {**environ, "MNP_SIMULATED": "1", "MNP_NODE_SHAPE": SHAPE}
    nodes = [start_node(index, 2, "smoke", *SWEEP, **environ) for index in (1, 0)]
    outputs = [node.communicate(timeout=120)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], outputs
    document = _result(outputs[1])
    assert document["verdict"]["status"] == "NOT_GRADED"
    assert (document["expected"]["nodes"], document["expected"]["ranks"]) == (2, 2)
    assert [(rank["rank"], rank["node"]) for rank in document["ranks"]] == [(0, 0), (1, 1)]
    assert len({rank["token"] for rank in document["ranks"]}) == 2
    assert [(row["size"], row["in_place"]["nwrong"]) for row in document["results"]] == [(8, 0), (512, 0), (32768, 0)]
    ((path, body),) = kept.items()
    assert path.startswith("/results/prefix/smoke/p5-training/2")
    assert path.endswith("Z-job.json")
    assert json.loads(body) == document
    events = [progress.parse(line) for line in outputs[1].splitlines()]
    assert [event.arrived for event in events if isinstance(event, progress.Arrival)] == [1, 2]
    assert [event.done for event in events if isinstance(event, progress.Step)] == [1, 2, 3]


@pytest.mark.end_to_end
def test_zip_application_runs_two_ranks_on_any_machine(tmp_path: Path) -> None:
    """`python3 mnp-node.pyz smoke` needs no AWS, and appends the options in MNP_SMOKE_OPTIONS."""
    application = tmp_path / "mnp-node.pyz"
    write_zip_application(application)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MNP_"))}
    environ = {**inherited, "MNP_SMOKE_OPTIONS": "--ranks-per-node 2 --max-bytes '64 KiB'"}
    done = subprocess.run(
        [sys.executable, application, "smoke", *SWEEP[:2], *SWEEP[4:]],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = _result(done.stdout)
    assert [rank["local_rank"] for rank in document["ranks"]] == [0, 1]
    assert document["verdict"]["status"] == "NOT_GRADED"
    assert "1 node, 2 ranks" in document["verdict"]["headline"]


@pytest.mark.end_to_end
def test_node_with_fewer_gpus_fails_at_once(start_node: StartNode) -> None:
    """On real hardware a node without its GPUs fails the test by name before any benchmark."""
    nodes = [start_node(index, 2, "smoke", *SWEEP, MNP_NODE_SHAPE=SHAPE) for index in (0, 1)]
    outputs = [node.communicate(timeout=120)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [1, 1]
    document = _result(outputs[0])
    assert document["verdict"]["status"] == "FAIL"
    assert document["verdict"]["headline"] == "node 0 (127.0.0.1) has 0 GPUs, expected 8"
    assert document["results"] == []


@pytest.mark.end_to_end
def test_missing_node_is_in_the_result(start_node: StartNode, bucket: tuple[dict[str, str], dict[str, bytes]]) -> None:
    """Also a run that never starts leaves a result that names the node and the cause."""
    environ, kept = bucket
    main_node = start_node(0, 2, "smoke", "--rendezvous-timeout", "1", **environ)
    document = _result(main_node.communicate(timeout=60)[0])
    assert main_node.returncode == 1
    assert document["verdict"]["status"] == "FAIL"
    assert "node 1 of 2 did not come to the rendezvous within 1 s" in document["verdict"]["headline"]
    assert [json.loads(body) for body in kept.values()] == [document]


@pytest.mark.end_to_end
def test_failed_upload_fails_the_job_but_not_the_log(start_node: StartNode) -> None:
    """Without credentials the result is still the last line of the log, and the job fails and says why."""
    environ = {"MNP_RESULTS": "s3://results/prefix", "AWS_REGION": "us-east-1"}
    main_node = start_node(0, 2, "smoke", "--rendezvous-timeout", "1", **environ)
    output = main_node.communicate(timeout=60)[0]
    assert main_node.returncode == 1
    assert _result(output)["job_id"] == "job"
    assert "the result could not be uploaded: no AWS credentials: looked for AWS_ACCESS_KEY_ID" in output


@pytest.mark.parametrize(
    ("arguments", "extra", "expected"),
    [
        ([], "", "required: smoke|launch"),
        (["smoke", "--max-bytes", "lots"], "", "argument --max-bytes: got 'lots'; allowed: 4 or more"),
        (["smoke"], "--iterations 0", "argument --iterations: got '0'; allowed: 1 or more"),
        (["smoke"], "'", "MNP_SMOKE_OPTIONS: No closing quotation"),
        (["smoke", "--", "true"], "", "a command to run goes to launch"),
        (["launch", "--with", "torchrun"], "", "a command to run goes to launch"),
        (["launch", "--with", "magic", "--", "true"], "", "invalid choice: 'magic'"),
    ],
)
def test_usage_errors_are_one_line(
    arguments: list[str],
    extra: str,
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong option ends with 2 and one line that names it."""
    monkeypatch.setenv("MNP_SMOKE_OPTIONS", extra)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert expected in error
    assert len(error.splitlines()) == 1
