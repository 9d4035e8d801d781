"""The server as an object: what it refuses, and that nothing of it stays."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request

import boto3
import pytest
from botocore.exceptions import ClientError

from mnp.local_aws import LocalAws, LocalAwsError, PortTakenError, UnsupportedMotoError
from tests.local_aws.support import Aws, make_cluster, wait_until


def test_a_server_starts_empty_and_leaves_no_thread() -> None:
    """Each server has its own state, and with it go its threads and its port."""
    before = set(threading.enumerate())
    with LocalAws() as server:
        first = Aws(server)
        make_cluster(first)
        first.client("s3").create_bucket(Bucket="only-here")
        first.close()
        port = int(server.endpoint_url.rsplit(":", 1)[1])
    with LocalAws(port) as server:
        second = Aws(server)
        assert second.client("s3").list_buckets()["Buckets"] == []
        assert second.client("batch").describe_job_queues()["jobQueues"] == []
        assert second.client("ec2").describe_placement_groups()["PlacementGroups"] == []
        second.close()
    wait_until(lambda: set(threading.enumerate()) <= before, "the server's threads to end")


def test_stopping_ends_running_jobs() -> None:
    """A job that runs when the server stops is over when the context is left."""
    with LocalAws() as server:
        aws = Aws(server)
        cluster = make_cluster(aws)
        job_id = cluster.submit(cluster.define("trap '' TERM; echo $$; while true; do sleep 1; done"))
        wait_until(lambda: cluster.describe(f"{job_id}#1")["status"] == "RUNNING", "the child")
        wait_until(lambda: cluster.log(f"{job_id}#0") and cluster.log(f"{job_id}#1"), "the process ids")
        pids = [cluster.log(f"{job_id}#{index}")[0] for index in (0, 1)]
        aws.close()
    for pid in pids:
        with pytest.raises(FileNotFoundError):
            open(f"/proc/{pid}/stat").close()  # noqa: PTH123 - a process, not a file of ours


def test_a_taken_port_is_named() -> None:
    """The message says which port, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"port {port} .*choose another"), LocalAws(port):
            pass


def test_a_process_holds_one_server() -> None:
    """The state of moto is one per process: a second server would share it."""
    with LocalAws(), pytest.raises(LocalAwsError, match="already runs"), LocalAws():
        pass


def test_another_moto_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extensions know one moto, and say which when they meet another."""
    monkeypatch.setattr("mnp.local_aws.moto_version.version", lambda _: "6.0.1")
    with pytest.raises(UnsupportedMotoError, match=r"extends moto 5\.2\.x, but moto 6\.0\.1"), LocalAws():
        pass


def test_a_page_under_another_host_name_is_refused() -> None:
    """A host name that was made to point at this machine does not reach the server."""
    with LocalAws() as server:
        request = urllib.request.Request(server.endpoint_url, headers={"Host": "evil.example"})  # noqa: S310 - http
        with pytest.raises(urllib.error.HTTPError, match="403") as caught:
            urllib.request.urlopen(request)  # noqa: S310 - http
        caught.value.close()


@pytest.mark.parametrize("key", ["testing", "AKIAIOSFODNN7EXAMPLE"])
def test_a_caller_without_the_servers_key_is_refused(key: str) -> None:
    """Another user of the machine, who does not know the key, can neither look nor start a job."""
    calls = {"batch": "describe_job_queues", "ec2": "describe_vpcs", "s3": "list_buckets", "sts": "get_caller_identity"}
    with LocalAws() as server:
        for service, call in calls.items():
            client = boto3.client(
                service,  # type: ignore[call-overload] # any service
                endpoint_url=server.endpoint_url,
                region_name="us-east-1",
                aws_access_key_id=key,
                aws_secret_access_key="any",  # noqa: S106 - no secret
            )
            with pytest.raises(ClientError, match="InvalidClientTokenId"):
                getattr(client, call)()
            client.close()


def test_a_request_without_a_signature_is_refused() -> None:
    """Nothing is served to who does not sign: not even moto's own pages."""
    with LocalAws() as server:
        for path in ("/", "/moto-api/data.json", "/v1/describejobqueues"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(server.endpoint_url + path)  # noqa: S310 - http
            refused.value.close()
            assert refused.value.code == 403
