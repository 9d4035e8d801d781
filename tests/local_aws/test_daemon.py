"""The server in the background: up, status, down, and no process left behind."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import boto3
import pytest

from mnp.local_aws import LocalAwsError, PortTakenError, daemon
from tests.local_aws.support import Aws, make_cluster, wait_until


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own; whatever runs in it is stopped."""
    monkeypatch.setenv("MNP_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return tmp_path / "local"


class Remote:
    """A running daemon, seen as `Aws` wants a server."""

    def __init__(self, status: daemon.Status) -> None:
        self.endpoint_url, self.environment = status.endpoint_url, status.environment


def wait_until_gone(pid: int) -> None:
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), f"process {pid} to be gone")


def test_up_status_down_twice(state: Path) -> None:
    """Each command may be repeated, and a second round starts afresh."""
    assert daemon.status() is None
    assert daemon.down() is False
    for _ in range(2):
        started = daemon.up()
        try:
            assert daemon.up() == started == daemon.status()
            with pytest.raises(LocalAwsError, match=f"already runs on port {started.port}"):
                daemon.up(started.port + 1)
            session = boto3.Session(started.access_key_id, "x", region_name="us-east-1")
            client = session.client("s3", endpoint_url=started.endpoint_url)
            assert client.list_buckets()["Buckets"] == []
            client.create_bucket(Bucket="a-bucket")
            client.close()
            assert "PUT /a-bucket" in Path(started.log).read_text()
        finally:
            assert daemon.down() is True
        assert daemon.status() is None
        assert not (state / "state.json").exists()
        wait_until_gone(started.pid)


def test_a_taken_port_is_an_error_with_no_server_left() -> None:
    """`up` says so, and there is nothing to stop."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"port {port} of 127.0.0.1 is taken"):
            daemon.up(port)
    assert daemon.status() is None


def test_a_stale_state_file_is_removed(state: Path) -> None:
    """A file whose server is dead counts for nothing, even if its process number is in use."""
    state.mkdir()
    (state / "state.json").write_text(f'{{"pid": {os.getpid()}, "port": 1}}')
    assert daemon.status() is None
    assert not (state / "state.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_node_survives_the_server(number: signal.Signals) -> None:
    """Killed or stopped, the server takes its jobs' processes with it, whatever sessions they made for themselves."""
    started = daemon.up()
    aws = Aws(Remote(started))  # type: ignore[arg-type] # it has what is used of a LocalAws
    try:
        cluster = make_cluster(aws)
        job_id = cluster.submit(cluster.define("trap '' TERM; setsid sleep 7654 & echo $! $$; wait; wait"))
        wait_until(lambda: cluster.describe(f"{job_id}#1")["status"] == "RUNNING", "the child")
        wait_until(lambda: cluster.log(f"{job_id}#0") and cluster.log(f"{job_id}#1"), "the process ids")
        pids = [pid for index in (0, 1) for pid in cluster.log(f"{job_id}#{index}")[0].split()]
        os.kill(started.pid, number)
        wait_until(lambda: daemon.status() is None, "the server's end")
        wait_until(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()], "the nodes' end")
    finally:
        aws.close()
        daemon.down()
