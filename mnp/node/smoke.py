"""`smoke`: run the all-reduce across all nodes, judge it, and leave the result in S3 and in the log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import job, s3, shape
from .launchers.torchrun import torchrun
from .limits import Limits
from .progress import say
from .rendezvous.assembly import RendezvousError
from .smoke_test import baselines, result, table, verdict
from .supervision.failure import SIGTERM_EXIT, describe, report
from .supervision.supervise import cancelled_by_signals, give_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .identity import Identity
    from .rendezvous.assembly import Assembly

_USUAL_MAX_BYTES = 8 * 2**30  # the all-reduce's own default on GPUs


class RunError(Exception):
    """The run ended before there was a result; the message names the node and the cause."""


@dataclass(frozen=True)
class Options:
    """The smoke test's options; None leaves the choice to the all-reduce, which knows its device."""

    min_bytes: int | None = None
    max_bytes: int | None = None
    step_factor: int | None = None
    iterations: int | None = None
    warmup_iterations: int | None = None
    ranks_per_node: int | None = None
    rendezvous_timeout: float = Limits.rendezvous
    collective_timeout: float = 120.0
    heartbeat_timeout: float = Limits.heartbeat

    @property
    def limits(self) -> Limits:
        """The bounds of the run."""
        return Limits(rendezvous=self.rendezvous_timeout, heartbeat=self.heartbeat_timeout)

    def arguments(self) -> list[str]:
        """The all-reduce's share of the options."""
        names = ("min_bytes", "max_bytes", "step_factor", "iterations", "warmup_iterations")
        given = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in given]
        return [*flags, f"--timeout={self.collective_timeout}"]


async def smoke(identity: Identity, environ: Mapping[str, str], options: Options) -> int:
    """The exit code for this node; on the main node 0 on PASS, DEGRADED and NOT_GRADED, else 1."""
    with cancelled_by_signals():
        if not identity.is_main:
            return await _assist(identity, environ, options)
        node_shape = shape.from_environment(environ)
        document = result.begin(identity, environ, node_shape)
        try:
            await _run(identity, environ, options, document)
            judged = verdict.judge(document)
        except RunError as error:
            judged = verdict.failed(str(error), "read that node's log stream")
        except asyncio.CancelledError:
            judged = verdict.failed(f"node {identity.index} ({identity.address}): the job was stopped (SIGTERM)")
        result.finish(document, judged)
        uploaded = publish(document, environ)
    return 0 if uploaded and judged.status != verdict.FAIL else 1


def publish(document: dict[str, Any], environ: Mapping[str, str]) -> bool:
    """Write the result to S3, then the table and, last, the result line. False if the upload failed."""
    uploaded = True
    prefix = environ.get("MNP_RESULTS")
    print(table.render(document), flush=True)
    if prefix:
        uri = f"{prefix.rstrip('/')}/{result.object_name(document)}"
        try:
            s3.put(uri, json.dumps(document, indent=1).encode(), "application/json")
            say(f"result: {uri}")
        except s3.S3Error as error:
            uploaded = False
            say(f"failed: the result could not be uploaded: {error}")
    print(result.final_line(document), flush=True)
    return uploaded


async def _run(identity: Identity, environ: Mapping[str, str], options: Options, document: dict[str, Any]) -> None:
    """The main node's part: fill the document. Raises RunError."""
    try:
        assembly = await job.assemble(identity, environ, options.limits)
    except RendezvousError as error:
        raise RunError(f"rendezvous: {error}") from None
    try:
        result.add_nodes(document, assembly.roster, options.ranks_per_node)
        unfit = _unfit(document)
        if unfit:
            await assembly.tell_all({"type": "stop", "cause": unfit})
            raise RunError(unfit)
        with _folder(assembly) as folder:
            output = folder / "all_reduce.json"
            await _all_reduce(assembly, environ, _with_graded_size(options, document), output)
            result.add_measurement(document, json.loads(output.read_text()))
    finally:
        assembly.close()


@contextlib.contextmanager
def _folder(assembly: Assembly) -> Iterator[Path]:
    """A folder for the measurement, while the block lasts. Raises RunError, which the other nodes are told."""
    try:
        folder = tempfile.mkdtemp(prefix="mnp-smoke-")
    except OSError as error:
        failure = give_up(assembly, f"cannot make a folder for the measurement: {error.strerror}")
        report(assembly, failure)
        raise RunError(describe(assembly, failure)) from None
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unfit(document: dict[str, Any]) -> str | None:
    """Why the benchmark cannot run on these nodes, or None."""
    short = verdict.missing_gpus(document)
    if short:
        return short.message
    for node in document["nodes"]:
        if "torch" not in node["versions"]:
            where = f"node {node['index']} ({node['address']})"
            return f"{where}: torch is not installed for its python3; choose an image with PyTorch"
    return None


def _with_graded_size(options: Options, document: dict[str, Any]) -> Options:
    """The options with a sweep that reaches a published size, where the usual one does not."""
    expected = document["expected"]
    published = baselines.of_cluster(expected["instance_type"], expected["nodes"])
    if document["simulated"] or options.max_bytes or not published or published[0].size <= _USUAL_MAX_BYTES:
        return options
    return Options(**{**vars(options), "max_bytes": published[0].size})


async def _all_reduce(assembly: Assembly, environ: Mapping[str, str], options: Options, output: Path) -> None:
    command = ["-m", f"{__package__}.smoke_test.all_reduce", f"--output={output}", *options.arguments()]
    workers = {
        **environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (_application(), environ.get("PYTHONPATH")))),
        # torch warns so in every process of an image without NumPy, which the all-reduce does not need.
        "PYTHONWARNINGS": "ignore:Failed to initialize NumPy:UserWarning",
    }
    failure = await job.run_everywhere(
        assembly, torchrun, command, workers, options.limits, processes=options.ranks_per_node
    )
    if failure:
        report(assembly, failure)
        raise RunError(describe(assembly, failure))


def _application() -> str:
    """The zip application or folder that holds the package `mnp`."""
    return str(Path(__file__).resolve().parents[2])


async def _assist(identity: Identity, environ: Mapping[str, str], options: Options) -> int:
    """Another node's part: its workers, until the main node says that all is done."""
    assembly = None
    try:
        assembly = await job.assemble(identity, environ, options.limits)
        with _folder(assembly) as folder:
            await _all_reduce(assembly, environ, options, folder / "unused.json")
    except RendezvousError as error:
        print(f"mnp: rendezvous: {error}", file=sys.stderr, flush=True)
        return 1
    except RunError:
        return 1
    except asyncio.CancelledError:
        say("stopped (SIGTERM)")
        return SIGTERM_EXIT
    finally:
        if assembly is not None:
            assembly.close()
    return 0
