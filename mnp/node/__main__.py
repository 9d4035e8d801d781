"""The command line of a node: `smoke` and `launch`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from . import identity, rendezvous, shape
from .launch import launch
from .launchers import LAUNCHERS
from .smoke import Options, smoke
from .units import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, then the end."""
        self.exit(2, f"{self.prog}: {message}; see --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; 2 is a usage error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    if given[:1] == ["smoke"]:
        try:
            given += shlex.split(os.environ.get("MNP_SMOKE_OPTIONS", ""))
        except ValueError as error:
            parser.error(f"MNP_SMOKE_OPTIONS: {error}")
    ours, command = (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    options = parser.parse_args(ours)
    if bool(command) != (options.verb == "launch"):
        parser.error("a command to run goes to launch, after --: launch --with torchrun -- train.py")
    try:
        return asyncio.run(_run(options, command))
    except (identity.IdentityError, shape.ShapeError) as error:
        print(f"mnp: {error}", file=sys.stderr)
        return 1
    finally:
        downloaded = os.environ.get("MNP_NODE_DOWNLOADED")
        if downloaded and downloaded == sys.argv[0]:
            with contextlib.suppress(OSError):
                Path(downloaded).unlink()


async def _run(options: argparse.Namespace, command: Sequence[str]) -> int:
    environ = dict(os.environ)
    own = identity.from_environment(environ)
    if options.verb == "launch":
        return await launch(own, environ, options.launcher, command, options.rendezvous_timeout)
    given = {name: value for name, value in vars(options).items() if name != "verb"}
    return await smoke(own, environ, Options(**given))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mnp-node", description="Runs on each node of an AWS Batch multi-node parallel job.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="smoke|launch", parser_class=_Parser)
    test = verbs.add_parser("smoke", help="all-reduce across the nodes, judged", allow_abbrev=False)
    test.add_argument("--min-bytes", type=_checked(parse_size, 4), metavar="SIZE", help="smallest size, such as 8")
    test.add_argument("--max-bytes", type=_checked(parse_size, 4), metavar="SIZE", help="largest size, such as 64M")
    test.add_argument("--step-factor", type=_checked(int, 2), metavar="N", help="from size to size (default 2)")
    test.add_argument("--iterations", type=_checked(int, 1), metavar="N", help="timed iterations (default 20)")
    test.add_argument("--warmup-iterations", type=_checked(int, 0), metavar="N", help="untimed ones (default 5)")
    test.add_argument("--ranks-per-node", type=_checked(int, 1), metavar="N", help="default: one per GPU, at least 1")
    test.add_argument("--collective-timeout", type=_checked(float, 1), default=120.0, metavar="SECONDS")
    run = verbs.add_parser("launch", help="run the command after -- on all nodes", allow_abbrev=False)
    run.add_argument("--with", dest="launcher", choices=sorted(LAUNCHERS), required=True)
    for verb in (test, run):
        default = rendezvous.DEFAULT_TIMEOUT
        verb.add_argument("--rendezvous-timeout", type=_checked(float, 1), default=default, metavar="SECONDS")
    return parser


def _checked(convert: Callable[[str], float], least: float) -> Callable[[str], float]:
    def checked(text: str) -> float:
        try:
            value = convert(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"got {text!r}; allowed: {least:g} or more")
        return value

    return checked


if __name__ == "__main__":
    raise SystemExit(main())
