"""S3 by hand, against botocore's signatures and a real HTTP server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import ThreadedMotoServer

from mnp.node import s3

NOW = "20261121T060804Z"
TRICKY = ["a b+c.json", "ünïcode/日本.zip", "x=1&y=2", "a//b/../c", "~tilde-_.!*'()", "per%25cent", "q?x#y", "@:,;$"]
CLEARED = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    *("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
)


@pytest.fixture(autouse=True)
def _no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CLEARED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(s3, "PAUSE", 0)


class _Server:
    """An HTTP server that gives scripted answers and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes] | None] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                outer.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                answer = outer.answers.pop(0)
                if answer is None:  # cut off in the middle of the body
                    self.send_response(200)
                    self.send_header("Content-Length", "100")
                    self.end_headers()
                    self.wfile.write(b"half")
                    return
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(answer[1])))
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(answer[1])

            do_PUT = do_GET  # noqa: N815 - the base class's name

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Keep the test's output clean."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    """A scripted S3 at the endpoint override, with static credentials."""
    server = _Server()
    thread = threading.Thread(target=server.http.serve_forever)
    thread.start()
    environ = {"AWS_ENDPOINT_URL_S3": server.url, "AWS_REGION": "us-east-1"}
    for name, value in {**environ, "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "key"}.items():
        monkeypatch.setenv(name, value)
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


@pytest.mark.parametrize("key", TRICKY)
@pytest.mark.parametrize("token", ["", "session/token=="])
@pytest.mark.parametrize("body", [b"", b"\x00body"])
def test_signature_is_botocores(key: str, token: str, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any key, token and body the Authorization header equals the one botocore makes."""
    url = s3.locate(f"s3://bucket/{key}", "eu-central-1")
    headers = {"Content-Type": "application/json"} if body else {}
    ours = s3.signed("PUT", url, headers, body, keys=("AKIA", "se/cret", token), region="eu-central-1", now=NOW)
    request = AWSRequest("PUT", url, headers=headers, data=body)
    request.context["timestamp"] = NOW
    request.context["payload_signing_enabled"] = True
    signer = S3SigV4Auth(Credentials("AKIA", "se/cret", token or None), "s3", "eu-central-1")
    signer._modify_request_before_signing(request)  # type: ignore[attr-defined]
    string = signer.string_to_sign(request, signer.canonical_request(request))
    assert ours["authorization"].endswith(f"Signature={signer.signature(string, request)}")
    assert ours.get("x-amz-security-token", "") == token


@pytest.mark.parametrize(
    ("uri", "region", "expected"),
    [
        ("s3://bucket/a/b c", "us-east-1", "https://bucket.s3.us-east-1.amazonaws.com/a/b%20c"),
        ("s3://bucket/k", "cn-north-1", "https://bucket.s3.cn-north-1.amazonaws.com.cn/k"),
        ("s3://my.bucket/k", "us-east-1", "https://s3.us-east-1.amazonaws.com/my.bucket/k"),
    ],
)
def test_objects_are_found_in_their_region_by_https(uri: str, region: str, expected: str) -> None:
    """Without an override the address is the region's, virtual-hosted, encrypted."""
    assert s3.locate(uri, region) == expected


@pytest.mark.parametrize("uri", ["bucket/key", "s3://bucket", "s3://bucket/", "s3:///key", "https://bucket/key"])
def test_other_addresses_are_refused(uri: str) -> None:
    """What is no s3://BUCKET/KEY is refused."""
    with pytest.raises(s3.S3Error, match="want s3://BUCKET/KEY"):
        s3.locate(uri, "us-east-1")


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_endpoint_override_is_path_style(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At an override the bucket is in the path."""
    monkeypatch.setenv(name, "http://localhost:5000/")
    assert s3.locate("s3://bucket/a=b", "us-east-1") == "http://localhost:5000/bucket/a%3Db"


def test_objects_survive_a_real_s3_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put under a tricky key is what boto3 reads, and what boto3 puts is what is got."""
    moto = ThreadedMotoServer(port=0)
    moto.start()
    try:
        host, port = moto.get_host_and_port()
        environ = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_REGION": "us-east-1"}
        for name, value in {**environ, "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "key"}.items():
            monkeypatch.setenv(name, value)
        client: Any = boto3.client("s3", endpoint_url=environ["AWS_ENDPOINT_URL"], region_name="us-east-1")
        client.create_bucket(Bucket="bucket")
        for key in ("a b+c.json", "ünïcode/日本=.zip"):
            s3.put(f"s3://bucket/{key}", b"\x00\xff", "application/zip")
            found = client.get_object(Bucket="bucket", Key=key)
            assert (found["Body"].read(), found["ContentType"]) == (b"\x00\xff", "application/zip")
            assert s3.get(f"s3://bucket/{key}") == b"\x00\xff"
        with pytest.raises(s3.S3Error, match=r"GET s3://bucket/absent failed at .*: HTTP 404 NoSuchKey \(attempt 1\)"):
            s3.get("s3://bucket/absent")
        client.close()
    finally:
        moto.stop()


def test_passing_errors_are_tried_again(server: _Server) -> None:
    """Throttling, server errors and a cut connection are tried again until the object is whole."""
    slow = b"<Error><Code>SlowDown</Code></Error>"
    server.answers = [(503, slow), (500, b""), (429, b""), None, (200, b"whole")]
    assert s3.get("s3://bucket/key") == b"whole"
    assert len(server.asked) == 5


def test_lasting_errors_end_with_their_cause(server: _Server) -> None:
    """The tries are bounded, and the message says what the last one got."""
    server.answers = [(503, b"<Error><Code>SlowDown</Code></Error>")] * s3.ATTEMPTS
    with pytest.raises(s3.S3Error, match=rf"HTTP 503 SlowDown \(attempt {s3.ATTEMPTS}\)"):
        s3.put("s3://bucket/key", b"x", "text/plain")
    assert {asked[3] for asked in server.asked} == {b"x"}


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (301, "PermanentRedirect"), (307, "Temporary")])
def test_refusals_and_redirects_end_at_once(server: _Server, status: int, code: str) -> None:
    """Nothing signed is sent anywhere else, and a refusal is not repeated."""
    server.answers = [(status, f"<Error><Code>{code}</Code></Error>".encode())]
    with pytest.raises(s3.S3Error, match=f"HTTP {status} {code}"):
        s3.get("s3://bucket/key")
    assert len(server.asked) == 1


def test_nobody_there_is_an_error(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that refuses connections is named after the last try."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    with pytest.raises(s3.S3Error, match=r"failed at 127\.0\.0\.1:1: .*refused"):
        s3.get("s3://bucket/key")


def test_job_roles_credentials_come_from_the_container_endpoint(
    server: _Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The full URI is asked with the authorization token, and the session token signs the request."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/credentials")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc")
    server.answers = [(200, b'{"AccessKeyId":"ASIA","SecretAccessKey":"s","Token":"t"}'), (200, b"body")]
    assert s3.get("s3://bucket/key") == b"body"
    assert server.asked[0][1:3] == ("/credentials", {**server.asked[0][2], "authorization": "Basic abc"})
    assert server.asked[1][2]["x-amz-security-token"] == "t"
    assert "Credential=ASIA/" in server.asked[1][2]["authorization"]


def test_relative_uri_is_at_the_ecs_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relative URI is asked of 169.254.170.2, which ECS keeps for that."""
    asked: list[str] = []

    def answer(what: str, request: Any, *_: object) -> bytes:
        asked.append(request.full_url)
        return b'{"AccessKeyId":"ASIA","SecretAccessKey":"s"}'

    monkeypatch.setattr(s3, "_send", answer)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/x")
    assert s3.credentials() == ("ASIA", "s", "")
    assert asked == ["http://169.254.170.2/v2/credentials/x"]


def test_absent_credentials_and_region_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message lists every place that was looked at."""
    with pytest.raises(s3.S3Error, match="looked for AWS_REGION and AWS_DEFAULT_REGION"):
        s3.get("s3://bucket/key")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with pytest.raises(s3.S3Error, match=r"AWS_ACCESS_KEY_ID .*RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        s3.get("s3://bucket/key")


def test_source_becomes_the_application_it_fetches(server: _Server, tmp_path: Path) -> None:
    """`python3 -c SOURCE URI ARGS` runs the object with these arguments, from a file nobody else may read."""
    program = b"import os, stat, sys; print(sys.argv[1:], oct(stat.S_IMODE(os.stat(sys.argv[0]).st_mode)))"
    server.answers = [(200, program), (404, b"<Error><Code>NoSuchKey</Code></Error>")]
    source = Path(s3.__file__).read_text()
    command = [sys.executable, "-c", source, "s3://bucket/app.zip", "smoke", "--max-bytes", "8"]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("['smoke', '--max-bytes', '8'] 0o600\n", "")
    failed = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    netloc = urlsplit(server.url).netloc
    assert failed.returncode == 1
    assert failed.stderr == f"mnp: GET s3://bucket/app.zip failed at {netloc}: HTTP 404 NoSuchKey (attempt 1)\n"
