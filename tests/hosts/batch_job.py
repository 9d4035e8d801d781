"""A job of one process per host, each with the variables that AWS Batch would give it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from tests.hosts.lab import Lab

SECRET = "correct horse battery staple"  # noqa: S105 - of tests only


def batch_variables(lab: Lab, index: int, main_index: int = 0) -> dict[str, str]:
    """What AWS Batch sets on the node, and the cluster's secret."""
    main_address = {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": lab[main_index].address}
    return {
        "AWS_BATCH_JOB_ID": f"job#{index}",
        "AWS_BATCH_JOB_ATTEMPT": "1",
        "AWS_BATCH_JOB_NUM_NODES": str(len(lab.hosts)),
        "AWS_BATCH_JOB_NODE_INDEX": str(index),
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": str(main_index),
        **({} if index == main_index else main_address),
        "MNP_SECRET": SECRET,
    }


def run_job(lab: Lab, argv: Sequence[str], environ: Mapping[str, str], seconds: float) -> list[tuple[int, str]]:
    """Exit code and output of every node of a job that runs argv on all hosts; a host that takes longer is ended."""
    nodes = [
        host.popen(
            *argv,
            environ={**environ, **batch_variables(lab, host.index)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for host in lab.hosts
    ]
    ended = []
    for host, node in zip(lab.hosts, nodes, strict=True):
        try:
            output, _ = node.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            host.end()
            output, _ = node.communicate()
        ended.append((node.returncode, output))
    return ended
