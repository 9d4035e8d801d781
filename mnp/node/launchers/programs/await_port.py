"""Wait until the main node opens a port. Usage: await_port.py NODE ADDRESS PORT SECONDS."""

from __future__ import annotations

import socket
import sys
import time

_PAUSE = 0.2  # seconds between attempts
_CONNECT_TIMEOUT = 2.0  # seconds; a port behind a lost packet answers within the first retransmission


def await_port(address: str, port: int, seconds: float) -> OSError | None:
    """None once the port is open, else the last error."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((address, port), timeout=_CONNECT_TIMEOUT):
                return None
        except OSError as error:
            if time.monotonic() >= deadline:
                return error
        time.sleep(_PAUSE)


def main(node: str, address: str, port: str, seconds: str) -> int:
    """The exit code: 0 once the port is open, 1 if it did not open in time."""
    error = await_port(address, int(port), float(seconds))
    if error is None:
        return 0
    print(f"mnp: main node {node} ({address}) did not open port {port} within {seconds} s: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
