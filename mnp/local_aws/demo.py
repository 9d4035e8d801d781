"""The whole way on one machine, without an AWS account: bootstrap, deploy, verify, smoke test, verdict.

    python -m mnp.local_aws.demo examples/demo.yaml

From the repository's root it runs the real `cdk` and the real `mnp` against an AWS that it starts on localhost, and
stops everything that it has started. What cdk says, the requests and the result stay in the folder .mnp/demo.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mnp.cluster.cluster_file import load
from mnp.cluster.model import Cluster
from mnp.cluster.problems import ClusterFileError
from mnp.local_aws.clients import ACCOUNT_ID
from mnp.local_aws.errors import LocalAwsError
from mnp.local_aws.server import LocalAws

CDK = Path("node_modules/.bin/cdk")
KEPT = Path(".mnp/demo")
RESULT = KEPT / "result.json"
LOG = KEPT / "commands.log"
STEPS = 5
MOST_NODES = 4
LINES_SHOWN = 30
SECONDS_TO_END = 10
SECONDS_BETWEEN_LOOKS = 0.5

_stop_wanted = threading.Event()

SUMMARY = """
Shown here: the real cdk CLI deployed the real templates; Batch started one process per node; the nodes found each
other, ran an all-reduce, checked every value and judged the run; log and result came back through AWS's own APIs.
Not shown here: GPUs, NCCL and EFA, which this machine does not have, and AWS's capacity, quotas and permissions.
On AWS it is the same commands: cdk bootstrap, cdk deploy, mnp verify, mnp smoke.
"""


class StepError(Exception):
    """A command did not end well. `output_shown`: what it said has been on the terminal already."""

    def __init__(self, message: str, *, output_shown: bool) -> None:
        super().__init__(message)
        self.output_shown = output_shown


@dataclass(frozen=True)
class Runner:
    """Runs commands with an environment that leads to the AWS on localhost and to no other."""

    environ: dict[str, str]
    verbose: bool

    def run(self, command: Sequence[str], *, quiet: bool, cwd: Path | None = None) -> None:
        """Run a command to its end; a quiet one writes to LOG, another to the terminal. Raises StepError."""
        to_log = quiet and not self.verbose
        with LOG.open("a") as log:
            print(f"$ {' '.join(command)}", file=log, flush=True)
            output = log if to_log else None
            process = subprocess.Popen(
                command, env=self.environ, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            with _ended(process):
                status = _exit_code(process)
        # A Ctrl-C reaches the command as well, which then ends by itself.
        _stop_if_wanted()
        if status:
            raise StepError(f"ended with exit code {status}", output_shown=not to_log)

    def cdk(self, *arguments: str, cwd: Path | None = None) -> None:
        self.run([str(CDK.resolve()), *arguments, "--no-notices", "--ci"], quiet=True, cwd=cwd)

    def mnp(self, *arguments: str, quiet: bool) -> None:
        self.run([sys.executable, "-m", "mnp.commands.main", *arguments], quiet=quiet)


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end, and look in between whether somebody wants the demo to stop."""
    while True:
        try:
            return process.wait(SECONDS_BETWEEN_LOOKS)
        except subprocess.TimeoutExpired:
            _stop_if_wanted()


def _stop_if_wanted() -> None:
    if _stop_wanted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave no process behind, whatever happens meanwhile."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Steps:
    """Numbered lines on standard error, each with the seconds that the step took."""

    def __init__(self) -> None:
        self._count = 0
        self.current = ""

    @contextmanager
    def step(self, text: str, *, quiet: bool = True) -> Iterator[None]:
        """Show one step; a quiet one says nothing of its own, so that its line can be completed at its end."""
        self._count += 1
        self.current = text
        _say(f"[{self._count}/{STEPS}] {text:<48}", end="" if quiet else "\n")
        start = time.monotonic()
        try:
            yield
        except BaseException:
            _say("" if quiet else f"      {text}:")
            raise
        _say(f"{time.monotonic() - start:5.1f} s" if quiet else f"      {time.monotonic() - start:.1f} s")


def _say(text: str, *, end: str = "\n") -> None:
    print(text, file=sys.stderr, end=end, flush=True)  # noqa: T201 - the demo talks to a person


def forget_aws_settings() -> None:
    """Drop from this process's environment what could lead to a real AWS account, or keep a client from starting."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "MNP_", "CDK_"))]:
        del os.environ[name]


def environment(aws: dict[str, str], cdk_home: Path) -> dict[str, str]:
    """Return this process's environment with what commands need to find the AWS on localhost, and no other."""
    return {
        **os.environ,
        **aws,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY"), "localhost", "127.0.0.1"])),
        "CDK_HOME": str(cdk_home),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "true",
    }


def play(cluster: Cluster, file: str, *, steps: Steps, verbose: bool) -> None:
    """Run all steps; whatever they have started is gone afterwards.

    Raises:
        StepError: A command failed.
        LocalAwsError: The AWS on localhost did not start.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mnp-demo-")))
        with steps.step("start AWS on localhost"):
            aws = stack.enter_context(LocalAws(region=cluster.region, log=KEPT / "requests.log"))
        runner = Runner(environment(aws.environment(), folder / "cdk-home"), verbose)
        with steps.step("cdk bootstrap", quiet=not verbose):
            # Away from cdk.json: there the CLI would run the app first, of which bootstrapping needs nothing.
            runner.cdk("bootstrap", f"aws://{ACCOUNT_ID}/{cluster.region}", cwd=folder)
        with steps.step(f"cdk deploy --all -c cluster={file}", quiet=not verbose):
            output = str(folder / "cdk.out")
            runner.cdk("deploy", "--all", "--require-approval", "never", "-c", f"cluster={file}", "--output", output)
        with steps.step(f"mnp verify {file}", quiet=not verbose):
            runner.mnp("verify", file, quiet=True)
        nodes = str(min(MOST_NODES, cluster.max_nodes))
        with steps.step(f"mnp smoke --nodes {nodes}", quiet=False):
            runner.mnp("smoke", "--nodes", nodes, "--output", str(RESULT), quiet=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mnp.local_aws.demo", description=__doc__)
    parser.add_argument("file", help="cluster file, such as examples/demo.yaml")
    parser.add_argument("--verbose", action="store_true", help="show what cdk and mnp verify say")
    arguments = parser.parse_args()
    if not CDK.exists():
        _say(f"error: {CDK} is not here. Run `make demo` in the repository's root, which installs it.")
        return 2
    try:
        cluster = load(arguments.file).cluster
    except ClusterFileError as error:
        _say(str(error))
        return 2
    forget_aws_settings()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _want_stop)
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in (LOG, RESULT):
        old.unlink(missing_ok=True)
    return _show(cluster, arguments.file, verbose=arguments.verbose)


def _want_stop(*_: object) -> None:
    # Noted and acted on while waiting: an exception here could come between a process's start and our care for it.
    _stop_wanted.set()


def _show(cluster: Cluster, file: str, *, verbose: bool) -> int:
    start, steps = time.monotonic(), Steps()
    try:
        play(cluster, file, steps=steps, verbose=verbose)
    except KeyboardInterrupt:
        _say("interrupted; everything that was started is stopped.")
        return 130
    except (StepError, LocalAwsError) as error:
        if isinstance(error, StepError) and not error.output_shown:
            for line in LOG.read_text(errors="replace").splitlines()[-LINES_SHOWN:]:
                _say(f"  {line}")
        _say(f"error: `{steps.current}`: {error}\nlogs: {KEPT}")
        return 1
    _say(f"{SUMMARY}\nresult: {RESULT}\n{time.monotonic() - start:.0f} s in all; nothing is left running.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
