"""An embedded AWS that stays in the background: `up`, `status`, `down`.

The state is in MNP_LOCAL_DIR or XDG_STATE_HOME/mnp/local. The server holds a lock there for as long as it lives, so a
state file left by a dead process is known for what it is, whatever its process number stands for by now.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mnp.local_aws import server
from mnp.local_aws.errors import LocalAwsError, PortTakenError, StartError

if TYPE_CHECKING:
    from collections.abc import Iterator

_START_SECONDS = 60
_STOP_SECONDS = 30
_POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Status:
    """A running server. `started` is ISO 8601, UTC; `log` holds its requests and its own messages."""

    pid: int
    port: int
    endpoint_url: str
    region: str
    started: str
    log: str
    access_key_id: str

    def environment(self) -> dict[str, str]:
        """Return the variables that point any AWS client at the server."""
        return server.environment(self.endpoint_url, self.region, self.access_key_id)


def folder() -> Path:
    """Return the folder that holds the state of this user's server."""
    if own := os.environ.get("MNP_LOCAL_DIR"):
        return Path(own)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "mnp" / "local"


def up(port: int = 0, *, region: str = server.REGION) -> Status:
    """Start the server unless it runs already, and return once it answers.

    Args:
        port: The port to listen on; 0 takes a free one, or whichever a running server has.
        region: The region that `Status.environment()` names.

    Raises:
        PortTakenError: Another program listens on the port.
        LocalAwsError: The server runs already, on another port.
        StartError: The server did not come up; the message has the end of its log.
    """
    with _exclusive():
        running = status()
        if running is None:
            return _start(port, region)
        if port not in {0, running.port}:
            raise LocalAwsError(
                f"the embedded AWS already runs on port {running.port} (process {running.pid}), not on {port}: "
                "stop it first with `mnp local down`"
            )
        return running


def status() -> Status | None:
    """Return the running server, or None. A state file whose server is dead is removed."""
    path = folder() / "state.json"
    if not path.exists():
        return None
    with _lock_file("server.lock") as lock:
        if _try_lock(lock):
            path.unlink(missing_ok=True)
            return None
    try:
        return Status(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None


def down() -> bool:
    """Stop the server and everything it started; return whether one was running.

    Raises:
        LocalAwsError: The process did not end, not even when killed.
    """
    with _exclusive():
        running = status()
        if running is None:
            return False
        for number, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, _STOP_SECONDS)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(running.pid, number)
            if _gone(seconds):
                return True
        raise LocalAwsError(f"process {running.pid} of the embedded AWS does not end; see {running.log}")


def _gone(seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while status() is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _start(port: int, region: str) -> Status:
    log = folder() / "server.log"
    ready, tell = os.pipe()
    log.write_bytes(b"")
    with os.fdopen(ready) as answer, log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "mnp.local_aws.daemon", f"--port={port}", f"--region={region}", f"--tell={tell}"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "MNP_LOCAL_DIR": str(folder().resolve())},
            pass_fds=[tell],
            start_new_session=True,
        )
        os.close(tell)
        readable, _, _ = select.select([answer], [], [], _START_SECONDS)
        outcome = json.loads(answer.readline() or "{}") if readable else {}
    if not outcome:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait(_STOP_SECONDS)
    if "error" in outcome:
        raise PortTakenError(outcome["error"])
    if not outcome:
        tail = log.read_text(errors="replace")[-2000:]
        raise StartError(f"the embedded AWS did not start; {log} ends:\n{tail}")
    return Status(**outcome)


def _serve(port: int, region: str, tell: IO[str]) -> int:
    """Run the server until SIGTERM or SIGINT."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    log, state = folder() / "server.log", folder() / "state.json"
    with _lock_file("server.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with server.LocalAws(port, log=log, region=region) as aws, tell:
                started = Status(
                    pid=os.getpid(),
                    port=int(aws.endpoint_url.rsplit(":", 1)[1]),
                    endpoint_url=aws.endpoint_url,
                    region=region,
                    started=datetime.now(UTC).isoformat(timespec="seconds"),
                    log=str(log),
                    access_key_id=aws.access_key_id,
                )
                state.write_text(json.dumps(asdict(started)))
                print(json.dumps(asdict(started)), file=tell, flush=True)
                tell.close()
                stop.wait()
        except PortTakenError as error:
            with contextlib.suppress(ValueError):
                print(json.dumps({"error": str(error)}), file=tell, flush=True)
            return 1
        finally:
            state.unlink(missing_ok=True)
    return 0


@contextlib.contextmanager
def _exclusive() -> Iterator[None]:
    """Let one `up` or `down` at a time work."""
    with _lock_file("command.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_file(name: str) -> IO[str]:
    folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    return (folder() / name).open("w")


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mnp.local_aws.daemon", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--region", default=server.REGION)
    parser.add_argument("--tell", type=int, required=True, help="file descriptor to tell the state to, once up")
    arguments = parser.parse_args()
    if os.fork():
        # The server is nobody's child: whoever called `up` need not wait for it to end.
        return 0
    return _serve(arguments.port, arguments.region, os.fdopen(arguments.tell, "w"))


if __name__ == "__main__":
    sys.exit(main())
