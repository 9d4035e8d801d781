"""`ray`: a Ray cluster of all nodes, and the command on the main node as its driver."""

from __future__ import annotations

import sys

from . import programs
from .launch import Job, Launch

_PROGRAMS = ("ray_head.py", "await_port.py", "ray_nodes.py")
_JOIN_TIMEOUT = 180  # seconds for all nodes to join Ray, most of it for reading Ray from a cold disk
# The kernel takes 107 bytes for the path of a socket; Ray's own part of it is a session's name and a file's.
_LONGEST_FOLDER = 107 - len("/session_2026-11-21_10-37-23_802473_1234567/sockets/plasma_store")
# No report to Ray's makers, and no wait for work to move to other nodes: all nodes end together.
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"}


def ray(job: Job) -> Launch:
    """Ray's head on the main node, `ray start --block` that serves it on the others; Ray counts CPUs and GPUs itself.

    The command starts once all nodes have joined, and finds the cluster by RAY_ADDRESS. With `--block` Ray's daemons
    end with the command that started them, and no other Ray on the machine is touched. Ray runs code for whoever
    reaches its ports; with the job's token, for the job's nodes only (Ray 2.52 and later; older ones ignore it):
    https://docs.ray.io/en/latest/ray-security/token-auth.html (2026-11-21).
    Options: https://docs.ray.io/en/latest/cluster/cli.html#ray-start (2026-11-21), checked with Ray 2.60.
    """
    address = f"{job.main_address}:{job.roster.master_port}"
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", f"--node-ip-address={job.address}"]
    folder = f"{job.folder}/own"
    if len(folder.encode()) <= _LONGEST_FOLDER:
        start.append(f"--temp-dir={folder}")
    environ = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": job.token, **_SETTINGS}
    if not job.is_main:
        return Launch((*start, f"--address={address}"), environ, serves=True, awaits_port=job.roster.master_port)
    head = [*start, "--head", f"--port={job.roster.master_port}", "--include-dashboard=false"]
    beside_head, await_port, count = ((sys.executable, f"{job.folder}/{name}") for name in _PROGRAMS)
    argv = [
        *(*beside_head, *head),
        *("--", *await_port, str(job.index), job.main_address, str(job.roster.master_port), str(_JOIN_TIMEOUT)),
        *("--", *count, address, str(_JOIN_TIMEOUT), *job.addresses),
        *("--", *job.command),
    ]
    return Launch(tuple(argv), environ, files={name: programs.source(name) for name in _PROGRAMS})
