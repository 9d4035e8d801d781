"""`mnp outputs`: the contract of a cluster, for other tools."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import Annotated

import typer

from mnp.cluster.contract import Contract, variable_name
from mnp.commands import options
from mnp.commands.aws import aws_session
from mnp.commands.console import emit
from mnp.commands.contract_reader import read_contract

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Format(StrEnum):
    """How the contract is written."""

    JSON = "json"
    ENV = "env"


@app.command()
def outputs(
    cluster: options.Cluster = None,
    region: options.Region = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="json: the contract; env: export lines for `eval`.")
    ] = Format.JSON,
) -> None:
    """Print what a cluster tells other tools.

    Queue, job definitions, roles, bucket, node shape and so on: names stay the same within a schema version.
    """
    contract = read_contract(aws_session(region), cluster)
    emit(contract.model_dump_json(indent=2) if output_format is Format.JSON else export_lines(contract))


def export_lines(contract: Contract) -> str:
    """Return one shell line per value, in the contract's order, safe for `eval`."""
    return "\n".join(f"export {variable_name(path)}={shlex.quote(str(value))}" for path, value in contract.flat())
