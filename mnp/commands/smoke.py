"""`mnp smoke`: submit the smoke test, show how it goes, judge."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnp.commands import options
from mnp.commands.aws import aws_session, is_local
from mnp.commands.console import emit, say
from mnp.commands.contract_reader import read_contract
from mnp.commands.errors import CommandError, ExitCode, UsageError
from mnp.commands.smoke_job.log import MainLog
from mnp.commands.smoke_job.progress_view import show_all
from mnp.commands.smoke_job.report import explain_end, show_result
from mnp.commands.smoke_job.request import choose_nodes, submit_request
from mnp.commands.smoke_job.result import find_result
from mnp.commands.smoke_job.state import look_at_job
from mnp.commands.smoke_job.watch import AWS_PACE, LOCAL_PACE, views
from mnp.node.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    import boto3
    from mypy_boto3_batch import BatchClient

    from mnp.cluster.contract import Contract

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _size(text: str) -> str:
    try:
        parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text


@app.command()
def smoke(
    *,
    cluster: options.Cluster = None,
    region: options.Region = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            help="How many nodes take part, 1 to the cluster's max_nodes. Default: 2, the least that crosses the "
            "network; nodes cost money while they run. Give max_nodes to judge every node.",
            show_default=False,
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(parser=_size, metavar="SIZE", help="Largest message, such as 64M. Default: by the backend."),
    ] = None,
    job: Annotated[
        str | None, typer.Option(metavar="JOB_ID", help="Come back to a smoke test that was submitted before.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result document, and nothing else.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Also write the result document to FILE.")
    ] = None,
) -> None:
    """Run the smoke test on a cluster and judge it.

    Submits an all-reduce across nodes, shows how it goes, and prints bandwidths, verdict and what to do.
    Ends with 0 for PASS, DEGRADED and NOT_GRADED, with 1 for FAIL and for a job without a result.
    """
    if job is not None and (nodes is not None or max_bytes is not None):
        raise UsageError("--job comes back to a job as it was submitted: --nodes and --max-bytes have no meaning.")
    session = aws_session(region)
    contract = read_contract(session, cluster)
    batch = session.client("batch", region_name=contract.region)
    if job is None:
        job = _submit(batch, contract, nodes, max_bytes)
    else:
        job = job.partition("#")[0]
        _check_is_smoke_test(batch, contract, job)
    document, healthy = _follow(session, contract, job)
    if document is not None:
        _hand_over(document, as_json=as_json, output=output)
    raise typer.Exit(ExitCode.OK if healthy else ExitCode.FAILED)


def _submit(batch: BatchClient, contract: Contract, nodes: int | None, max_bytes: str | None) -> str:
    count = choose_nodes(contract, nodes)
    arguments = ["--max-bytes", max_bytes] if max_bytes else []
    job_id = batch.submit_job(**submit_request(contract, nodes=count, options=arguments))["jobId"]
    say(f"job {job_id}: smoke test of cluster {contract.cluster}, {count} x {contract.node.instance_type}")
    return job_id


def _check_is_smoke_test(batch: BatchClient, contract: Contract, job_id: str) -> None:
    state = look_at_job(batch, job_id)
    ours, theirs = (arn.rpartition(":")[0] for arn in (contract.smoke_job_definition_arn, state.definition_arn))
    if ours != theirs:
        raise UsageError(
            f"job {job_id} is no smoke test of cluster {contract.cluster!r}: it runs {state.definition_arn}.",
            fix="Name the job's cluster with --cluster.",
        )


@contextmanager
def _job_survives(contract: Contract, job_id: str) -> Iterator[None]:
    """Say how to come back to the job when following it ends early: the job does not depend on us."""
    try:
        yield
    except (KeyboardInterrupt, Exception):
        where = f"--region {contract.region}"
        say(f"The job goes on. Come back:  mnp smoke --cluster {contract.cluster} {where} --job {job_id}")
        say(f"Cancel it:  aws batch terminate-job {where} --job-id {job_id} --reason 'no longer wanted'")
        raise


def _follow(session: boto3.Session, contract: Contract, job_id: str) -> tuple[dict[str, Any] | None, bool]:
    """Show the job to its end; return its result, if there is one, and whether both job and verdict are good."""
    batch = session.client("batch", region_name=contract.region)
    log = MainLog(session.client("logs", region_name=contract.region), contract.log_group)
    pace = LOCAL_PACE if is_local(batch) else AWS_PACE
    with _job_survives(contract, job_id):
        last = show_all(views(batch, job_id, log, pace), contract)
    found = find_result(last, log, session.client("s3", region_name=contract.region), contract, pace=pace)
    if last.state.status != "SUCCEEDED" or found is None:
        explain_end(last.state, log, has_result=found is not None)
    if found is None:
        return None, False
    document, where = found
    say(f"result: {where}")
    return document, last.state.status == "SUCCEEDED" and document["verdict"]["status"] != "FAIL"


def _hand_over(document: dict[str, Any], *, as_json: bool, output: Path | None) -> None:
    text = json.dumps(document, indent=2)
    if as_json:
        emit(text)
    else:
        show_result(document)
    if output is not None:
        try:
            output.write_text(text + "\n")
        except OSError as error:
            raise CommandError(f"the result cannot be written to {output}: {error.strerror}") from error
