"""The command line of a node: `smoke`, `launch` and `local`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from . import identity, shape
from .launch import launch
from .launchers import LAUNCHERS, ONE_PROCESS_PER_NODE
from .limits import Limits
from .local import DEFAULT_NODES, launch_options, local
from .smoke import Options, smoke
from .supervision import heartbeat
from .supervision.failure import SIGTERM_EXIT
from .supervision.guard import guarded
from .supervision.supervise import cancelled_by_signals
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
    if bool(command) != (options.verb != "smoke"):
        parser.error("a command to run goes to launch or local, after --: launch --with torchrun -- train.py")
    if options.verb != "smoke" and options.processes_per_node and options.launcher in ONE_PROCESS_PER_NODE:
        parser.error(f"--processes-per-node: {options.launcher} runs one process per node, which uses all its devices")
    try:
        return guarded(lambda: _outcome(options, ours, command), getattr(options, "grace", Limits.grace))
    finally:
        downloaded = os.environ.get("MNP_NODE_DOWNLOADED")
        if downloaded and downloaded == sys.argv[0]:
            with contextlib.suppress(OSError):
                Path(downloaded).unlink()


def _outcome(options: argparse.Namespace, ours: Sequence[str], command: Sequence[str]) -> int:
    try:
        return asyncio.run(_run(options, ours, command))
    except (identity.IdentityError, shape.ShapeError) as error:
        print(f"mnp: {error}", file=sys.stderr)
        return 1


async def _run(options: argparse.Namespace, ours: Sequence[str], command: Sequence[str]) -> int:
    environ = dict(os.environ)
    if options.verb == "local":
        return await local(options.nodes, launch_options(ours[1:]), command, environ, options.grace)
    try:
        with cancelled_by_signals():
            own = await identity.from_environment(environ, options.rendezvous_timeout)
    except asyncio.CancelledError:
        return SIGTERM_EXIT
    if options.verb == "launch":
        limits = Limits(options.rendezvous_timeout, options.heartbeat_timeout, options.grace, options.linger)
        processes = options.processes_per_node
        return await launch(own, environ, options.launcher, command, limits, processes=processes)
    given = {name: value for name, value in vars(options).items() if name != "verb"}
    return await smoke(own, environ, Options(**given))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mnp-node", description="Runs on each node of an AWS Batch multi-node parallel job.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="smoke|launch|local", parser_class=_Parser)
    test = verbs.add_parser("smoke", help="all-reduce across the nodes, judged", allow_abbrev=False)
    test.add_argument("--min-bytes", type=_checked(parse_size, 4), metavar="SIZE", help="smallest size, such as 8")
    test.add_argument("--max-bytes", type=_checked(parse_size, 4), metavar="SIZE", help="largest size, such as 64M")
    test.add_argument("--step-factor", type=_checked(int, 2), metavar="N", help="from size to size (default 2)")
    test.add_argument("--iterations", type=_checked(int, 1), metavar="N", help="timed iterations (default 20)")
    test.add_argument("--warmup-iterations", type=_checked(int, 0), metavar="N", help="untimed ones (default 5)")
    test.add_argument("--ranks-per-node", type=_checked(int, 1), metavar="N", help="default: one per GPU, at least 1")
    test.add_argument("--collective-timeout", type=_checked(float, 1), default=120.0, metavar="SECONDS")
    run = verbs.add_parser("launch", help="run the command after -- on all nodes", allow_abbrev=False)
    here = verbs.add_parser("local", help="the same with all nodes on this machine", allow_abbrev=False)
    here.add_argument("--nodes", type=_checked(int, 1), default=DEFAULT_NODES, metavar="N", help="default: %(default)s")
    grace, linger = "from SIGTERM to SIGKILL", "for the other nodes once the main node's command ended well"
    for verb in (run, here):
        verb.add_argument("--with", dest="launcher", choices=sorted(LAUNCHERS), required=verb is run, default="env")
        verb.add_argument("--processes-per-node", type=_checked(int, 1), metavar="N", help="default: one per GPU")
        verb.add_argument("--grace", type=_checked(float, 0), default=Limits.grace, metavar="SECONDS", help=grace)
        verb.add_argument("--linger", type=_checked(float, 0), default=Limits.linger, metavar="SECONDS", help=linger)
    seconds, bound = _checked(float, 1), _checked(float, heartbeat.LEAST_BOUND)
    silence = "a node not heard from for so long is lost; the main node's value counts for all"
    for verb in (test, run, here):
        verb.add_argument("--rendezvous-timeout", type=seconds, default=Limits.rendezvous, metavar="SECONDS")
        verb.add_argument("--heartbeat-timeout", type=bound, default=Limits.heartbeat, metavar="SECONDS", help=silence)
    return parser


def _checked(convert: Callable[[str], float], least: float) -> Callable[[str], float]:
    def checked(text: str) -> float:
        try:
            value = convert(text)
        except ValueError:
            value = least - 1
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"got {text!r}; allowed: {least:g} or more")
        return value

    return checked


if __name__ == "__main__":
    raise SystemExit(main())
