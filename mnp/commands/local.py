"""`mnp local`: an AWS on this machine, for trying things without an account."""

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from mnp.commands.console import emit, say
from mnp.commands.errors import CommandError, ExitCode, UsageError

try:
    from mnp.local_aws import daemon
    from mnp.local_aws.errors import LocalAwsError
    from mnp.local_aws.server import MISLEADING_VARIABLES
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] == "mnp":
        raise
    raise UsageError(
        f"`mnp local` needs the Python package {error.name!r}, which is not installed.",
        fix="pip install 'mnp[local]'",
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterator

HIGHEST_PORT = 65535

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Run AWS on localhost, for trying things without an account.\n\n"
    "The real cdk, mnp and any AWS tool work with it; a job's nodes are processes on this machine.",
)


@app.command()
def up(
    *,
    port: Annotated[int, typer.Option(min=0, max=HIGHEST_PORT, help="Port to listen on; 0 takes a free one.")] = 0,
    region: Annotated[str, typer.Option(help="Region that the exported variables name.")] = "us-east-1",
) -> None:
    """Start it, and print what a shell needs to use it: eval "$(mnp local up)".

    Started once: again, it prints the same.
    """
    with _local_errors():
        running = daemon.up(port, region=region)
    emit(export_lines(running.environment()))
    say(f"AWS on localhost: {running.endpoint_url}, region {running.region}, log {running.log}")


@app.command()
def down() -> None:
    """Stop it, with all jobs; what was deployed there is gone."""
    with _local_errors():
        stopped = daemon.down()
    say("stopped." if stopped else "nothing was running.")


@app.command()
def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON; null when it does not run.")] = False,
) -> None:
    """Say whether it runs, and where; ends with 1 if it does not."""
    with _local_errors():
        running = daemon.status()
    if as_json:
        emit(json.dumps(asdict(running) if running else None, indent=2))
    elif running:
        emit(f"{running.endpoint_url} (region {running.region}, process {running.pid}, since {running.started})")
    else:
        say('not running; start it with: eval "$(mnp local up)"')
    raise typer.Exit(ExitCode.OK if running else ExitCode.FAILED)


@contextmanager
def _local_errors() -> Iterator[None]:
    try:
        yield
    except LocalAwsError as error:
        raise CommandError(str(error)) from error


def export_lines(environ: dict[str, str]) -> str:
    """Return shell lines that set these variables and forget those that would mislead a client."""
    exports = [f"export {name}={shlex.quote(value)}" for name, value in environ.items()]
    return "\n".join([*exports, f"unset {' '.join(MISLEADING_VARIABLES)}"])
