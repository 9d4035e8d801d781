"""`local`: a job whose nodes are processes of this machine, to try a command before a cluster runs it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import network, secret
from .identity import explicit
from .identity.choice import LAUNCHED
from .progress import say
from .supervision.failure import SIGTERM_EXIT
from .supervision.process_group import SIGNAL_EXIT
from .supervision.supervise import cancelled_by_signals

if TYPE_CHECKING:
    from asyncio import StreamReader
    from asyncio.subprocess import Process
    from collections.abc import Mapping, Sequence

DEFAULT_NODES = 2
_ADDRESS = "127.0.0.1"
# Seconds beyond the grace time that the other nodes have once the main node or a failed one has ended. They need fewer,
# unless the failed one never came to the rendezvous.
_OTHERS_SECONDS = 25.0
_LAST_OUTPUT_SECONDS = 5.0  # for a pipe that a process left behind holds open
_CHUNK = _LONGEST_LINE = 64 * 1024  # bytes
# Of the launch around this one, or of the archive's download: none of it is meant for the nodes here.
_NOT_FOR_NODES = {LAUNCHED, "MNP_NODE_DOWNLOADED", *secret.VARIABLES, *explicit.VARIABLES.values()}


@dataclass(frozen=True)
class _Node:
    index: int
    process: Process
    ended: asyncio.Future[int]
    relayed: asyncio.Future[None]


async def local(
    nodes: int, options: Sequence[str], command: Sequence[str], environ: Mapping[str, str], grace: float
) -> int:
    """Run `launch` with these options on so many nodes; the exit code is that of the main node's launch.

    Every line that node i writes comes out on stdout behind `[node i] `. SIGTERM and Ctrl-C end all nodes.
    """
    argv = [*_this_program(), "launch", *options, "--", *command]
    started: list[_Node] = []
    patience = grace + _OTHERS_SECONDS
    try:
        with cancelled_by_signals():
            for variables in node_variables(nodes, environ):
                started.append(await _start(len(started), argv, variables))
            return await _outcome(started, patience)
    except asyncio.CancelledError:
        return SIGTERM_EXIT
    except BrokenPipeError:
        return 1  # whoever read the output has gone, and can be told nothing
    finally:
        await _end(started, patience)


def node_variables(nodes: int, environ: Mapping[str, str]) -> list[dict[str, str]]:
    """Each node's environment: this one, with a job of its own on the loopback interface, and a secret of its own."""
    # A pipe would keep what a Python writes until much of it is there.
    inherited = {"PYTHONUNBUFFERED": "1", **environ}
    job = {
        **{name: value for name, value in inherited.items() if name not in _NOT_FOR_NODES},
        "MNP_SECRET": secrets.token_hex(32),
        "MNP_JOB_ID": f"local-{secrets.token_hex(4)}",
        "MNP_ATTEMPT": "1",
        "MNP_NODE_COUNT": str(nodes),
        "MNP_MAIN_INDEX": "0",
        "MNP_MAIN_ADDRESS": _ADDRESS,
        "MNP_RENDEZVOUS_PORT": str(network.free_port()),
    }
    return [{**job, "MNP_NODE_INDEX": str(index)} for index in range(nodes)]


def launch_options(given: Sequence[str]) -> list[str]:
    """The options of `local` that are also those of `launch`: all but --nodes, and --with env unless one is given."""
    options = ["--with", "env"]
    words = iter(given)
    for word in words:
        if word == "--nodes":
            next(words, None)
        elif not word.startswith("--nodes="):
            options.append(word)
    return options


def _this_program() -> list[str]:
    """How this Python runs the node code: the zip application itself, or the module of a folder."""
    application = Path(__file__).resolve().parents[2]
    return [sys.executable, str(application)] if application.is_file() else [sys.executable, "-m", __package__ or ""]


async def _start(index: int, argv: Sequence[str], environ: Mapping[str, str]) -> _Node:
    process = await asyncio.create_subprocess_exec(
        *argv, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    if process.stdout is None:
        raise RuntimeError("a process without a pipe")
    relayed = asyncio.ensure_future(_relay(process.stdout, b"[node %d] " % index))
    return _Node(index, process, asyncio.ensure_future(process.wait()), relayed)


async def _relay(stream: StreamReader, prefix: bytes) -> None:
    """Write every line of the stream to stdout behind the prefix. Raises BrokenPipeError if nobody reads that."""
    rest = b""
    while True:
        chunk = await stream.read(_CHUNK)
        *lines, rest = (rest + chunk).split(b"\n")
        if rest and (not chunk or len(rest) > _LONGEST_LINE):
            lines.append(rest)
            rest = b""
        _write(b"".join(prefix + line + b"\n" for line in lines))
        if not chunk:
            return


def _write(content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(1, left) :]


async def _outcome(nodes: Sequence[_Node], patience: float) -> int:
    """The job's exit code, once all nodes ended, or the time is up that the others have after one of them ended."""
    loop = asyncio.get_running_loop()
    main = nodes[0]
    deadline: float | None = None
    while True:
        waited = {future for node in nodes for future in (node.ended, node.relayed) if not future.done()}
        for node in nodes:
            if node.relayed.done():
                node.relayed.result()
        running = [node for node in nodes if not node.ended.done()]
        if not running:
            return _exit_code(main.ended.result())
        left = None if deadline is None else deadline - loop.time()
        if left is not None and left <= 0:
            break
        await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if deadline is None and any(node.ended.done() for node in nodes if node is main or _failed(node)):
            deadline = loop.time() + patience
    first = next(node for node in (main, *nodes) if node.ended.done() and (node is main or _failed(node)))
    code = _exit_code(first.ended.result())
    late = ", ".join(str(node.index) for node in running)
    say(f"failed: node {first.index} ended with exit code {code}, and {patience:g} s later these still ran: {late}")
    return code or 1


def _failed(node: _Node) -> bool:
    return node.ended.done() and node.ended.result() != 0


def _exit_code(code: int) -> int:
    return SIGNAL_EXIT - code if code < 0 else code


async def _end(nodes: Sequence[_Node], patience: float) -> None:
    """End every node that still runs, and write what the last ones had to say."""
    running = {node.ended for node in nodes if not node.ended.done()}
    for node in nodes:
        if node.ended in running:
            with contextlib.suppress(ProcessLookupError):
                node.process.terminate()
    if running:
        await asyncio.wait(running, timeout=patience)
    for node in nodes:
        if not node.ended.done():
            with contextlib.suppress(ProcessLookupError):
                node.process.kill()
    relays = [node.relayed for node in nodes]
    if relays:
        await asyncio.wait(relays, timeout=_LAST_OUTPUT_SECONDS)
    for relay in relays:
        relay.cancel()
    await asyncio.gather(*(node.ended for node in nodes), *relays, return_exceptions=True)
