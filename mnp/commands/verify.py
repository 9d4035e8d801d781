"""`mnp verify`: is what exists what the file means? Asked of the service APIs, not of the template."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import boto3
import typer
from rich.table import Table
from rich.text import Text

from mnp.cluster.cluster_file import load
from mnp.cluster.contract import Contract
from mnp.cluster.model import Cluster
from mnp.commands import options
from mnp.commands.aws import aws_session
from mnp.commands.console import data, emit, say
from mnp.commands.contract_reader import read_contract
from mnp.commands.errors import ExitCode
from mnp.commands.verification import Check, compute_environment, jobs, network

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="The cluster file that was deployed.")] = options.DEFAULT_FILE,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print every check as JSON.")] = False,
) -> None:
    """Compare a deployed cluster with its file, fact by fact, as the AWS services tell them; change nothing.

    Exit code 1 if any fact differs.
    """
    cluster = load(file).cluster
    session = aws_session(cluster.region)
    contract = read_contract(session, cluster.name)
    found = list(checks(cluster, contract, session))
    differing = [check for check in found if not check.holds]
    if as_json:
        emit(json.dumps([_as_json(check) for check in found]))
    else:
        data.print(_table(found))
    say(
        f"{cluster.name}: {len(found)} facts, {len(differing)} differ from {file}",
        style="bold red" if differing else "green",
    )
    if differing:
        raise typer.Exit(ExitCode.FAILED)


def checks(cluster: Cluster, contract: Contract, session: boto3.Session) -> Iterator[Check]:
    """Every fact of the cluster, in the order of its making."""
    for part in (network, compute_environment, jobs):
        yield from part.checks(cluster, contract, session)


def _as_json(check: Check) -> dict[str, Any]:
    found = {"expected": check.expected, "found": check.found}
    return {
        "subject": check.subject,
        "fact": check.fact,
        "holds": check.holds,
        **{name: sorted(value) if isinstance(value, set) else value for name, value in found.items()},
    }


def _table(found: list[Check]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("", "resource", "fact", "found"):
        table.add_column(heading)
    for check in found:
        mark = Text("ok", "green") if check.holds else Text("DIFFERS", "bold red")
        note = _short(check.found) if check.holds else f"{_short(check.found)}; expected {_short(check.expected)}"
        table.add_row(mark, check.subject, check.fact, note)
    return table


def _short(value: Any) -> str:
    """A value on one line; of a long list the ends."""
    if isinstance(value, (list, set)) and len(value) > 3:  # noqa: PLR2004 -- what fits a line
        first, *_, last = value
        return f"{len(value)}: {first} ... {last}"
    return str(value)
