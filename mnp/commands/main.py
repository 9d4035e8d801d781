"""The command `mnp`: which verbs there are, and the one place where an error becomes a message and an exit code."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from mnp import __version__
from mnp.cluster.problems import ClusterFileError
from mnp.commands.console import complain, say
from mnp.commands.errors import CommandError, ExitCode

HELP = """Check, verify and smoke-test a multi-node GPU cluster on AWS Batch.

A cluster is described by one YAML file, deployed with `cdk deploy -c cluster=FILE`, and found afterwards
by its name: the deployment leaves its contract in the SSM parameter /mnp/NAME.

\b
Typical order:
  mnp check cluster.yaml     before deploying, offline
  mnp verify cluster.yaml    after deploying: is what AWS has what the file asks for?
  mnp smoke                  run an all-reduce across nodes and judge it
  mnp outputs --format env   hand the cluster to your own tool
"""

EPILOG = """\b
Standard output carries data only (--json, --format); progress and errors go to standard error.
Exit codes:
  0    done; the verdict is PASS, DEGRADED or NOT_GRADED
  1    the cluster or the job is bad, or AWS could not be asked
  2    wrong usage: an option, a cluster's name or a cluster file
  130  interrupted with Ctrl-C; a submitted job goes on
"""

# Each verb is the module of the same name, which holds a typer.Typer called `app`.
VERBS = {
    "check": "Check a cluster file, offline: every mistake at once.",
    "schema": "Print the JSON Schema of the cluster file, for editors.",
    "verify": "Compare a deployed cluster with its file.",
    "smoke": "Run the smoke test on a cluster and judge it.",
    "outputs": "Print what a cluster tells other tools.",
    "local": "Run AWS on localhost, for trying things without an account.",
}


class LazyVerbs(TyperGroup):
    """Imports a verb's module only when that verb is called: `mnp --help` and `mnp check` load no AWS library."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in VERBS:
            module = import_module(f"mnp.commands.{args[0]}")
            self.add_command(typer.main.get_command(module.app), args[0])
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="mnp",
    cls=LazyVerbs,
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with one positional value
    if wanted:
        typer.echo(f"mnp {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _replaced_by_lazy_verbs() -> NoReturn:
    raise AssertionError


for _name, _help in VERBS.items():
    app.command(_name, help=_help)(_replaced_by_lazy_verbs)


def main() -> None:
    """Run `mnp` with the process's arguments and exit with a code of `ExitCode`; a bug of ours keeps its traceback."""
    try:
        app()
    except ClusterFileError as error:
        say(str(error))
        sys.exit(ExitCode.USAGE)
    except CommandError as error:
        complain(error)
        sys.exit(error.exit_code)
    except Exception as error:
        # Imported here because it imports botocore, which most verbs never need.
        problem = import_module("mnp.commands.aws_errors").explain(error)
        if problem is None:
            raise
        complain(problem)
        sys.exit(problem.exit_code)


if __name__ == "__main__":
    main()
