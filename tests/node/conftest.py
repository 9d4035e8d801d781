"""What the tests of the node code share: identities on loopback, and real nodes as processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mnp.node import network
from mnp.node.identity import Identity

LOOPBACK = "127.0.0.1"
StartNode = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def identities() -> Callable[[int], list[Identity]]:
    """Identities of the nodes of one job on loopback, whose main node listens on a free port."""

    def make(count: int, main_index: int = 0) -> list[Identity]:
        port = network.free_port()
        return [Identity("job", 1, index, main_index, count, LOOPBACK, LOOPBACK, port) for index in range(count)]

    return make


@pytest.fixture
def ecs_metadata() -> Iterator[str]:
    """The address of an ECS task metadata endpoint that says the task is at 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"Networks": [{"NetworkMode": "awsvpc", "IPv4Addresses": [LOOPBACK]}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Keep the test's output clean."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_port}/v4/abc"
        server.shutdown()
        thread.join()


@pytest.fixture
def start_node(ecs_metadata: str) -> Iterator[StartNode]:
    """Start `python -m mnp.node ARGUMENTS` as one node of a job, ended with the test at the latest."""
    port, processes = str(network.free_port()), []

    def start(index: int, count: int, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        batch = {
            "AWS_BATCH_JOB_ID": f"job#{index}",
            "AWS_BATCH_JOB_ATTEMPT": "1",
            "AWS_BATCH_JOB_NUM_NODES": str(count),
            "AWS_BATCH_JOB_NODE_INDEX": str(index),
            "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
            **({"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": LOOPBACK} if index else {}),
            "ECS_CONTAINER_METADATA_URI_V4": ecs_metadata,
            "MNP_RENDEZVOUS_PORT": port,
            "MNP_SECRET": "correct horse battery staple",
        }
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MNP_"))}
        process = subprocess.Popen(
            [sys.executable, "-m", "mnp.node", *arguments],
            env={**inherited, **batch, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
