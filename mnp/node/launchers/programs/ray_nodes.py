"""Wait until all nodes have joined Ray. Usage: ray_nodes.py RAY_ADDRESS SECONDS NODE_ADDRESS..."""

from __future__ import annotations

import sys
import time

import ray

_PAUSE = 0.2  # seconds between looks
_NAMED = 8  # missing nodes named in one line


def missing_nodes(address: str, seconds: float, expected: list[str]) -> list[str]:
    """The addresses that are not in the cluster when all should be; empty as soon as all are."""
    deadline = time.monotonic() + seconds
    ray.init(address=address, log_to_driver=False)
    try:
        while True:
            joined = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
            # Nodes are counted, for Ray has another name for a loopback address; addresses are for the message.
            if len(joined) >= len(expected):
                return []
            if time.monotonic() >= deadline:
                return [node for node in expected if node not in joined] or ["which is not known"]
            time.sleep(_PAUSE)
    finally:
        ray.shutdown()


def main(address: str, seconds: str, expected: list[str]) -> int:
    """The exit code: 0 once all nodes have joined, 1 if some did not in time."""
    missing = missing_nodes(address, float(seconds), expected)
    if not missing:
        return 0
    named = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
    joined = len(expected) - len(missing)
    print(f"mnp: {joined} of {len(expected)} nodes joined Ray within {seconds} s; missing: {named}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
