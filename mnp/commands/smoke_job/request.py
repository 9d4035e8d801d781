"""What is sent to AWS Batch to start a smoke test."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mnp.commands.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_batch.type_defs import NodeOverridesTypeDef, SubmitJobRequestTypeDef

    from mnp.cluster.contract import Contract

# The smallest job that crosses the network: further nodes cost money and may be long in coming.
DEFAULT_NODES = 2


def choose_nodes(contract: Contract, wanted: int | None) -> int:
    """Return the number of nodes to ask for; raises UsageError where the cluster cannot have as many."""
    if wanted is None:
        return min(DEFAULT_NODES, contract.max_nodes)
    if not 1 <= wanted <= contract.max_nodes:
        raise UsageError(
            f"--nodes {wanted}: cluster {contract.cluster!r} has room for 1 to {contract.max_nodes} nodes (max_nodes).",
            fix="Ask for fewer, or raise max_nodes in the cluster file and deploy.",
        )
    return wanted


def submit_request(contract: Contract, *, nodes: int, options: Sequence[str]) -> SubmitJobRequestTypeDef:
    """Return the whole SubmitJob request; `options` are arguments of the node code's `smoke`."""
    overrides: NodeOverridesTypeDef = {"numNodes": nodes}
    if options:
        environment = [{"name": "MNP_SMOKE_OPTIONS", "value": shlex.join(options)}]
        overrides["nodePropertyOverrides"] = [
            {"targetNodes": "0:", "containerOverrides": {"environment": environment}}  # type: ignore[typeddict-item]
        ]
    return {
        "jobName": f"mnp-smoke-{contract.cluster}",
        "jobQueue": contract.queue_arn,
        "jobDefinition": contract.smoke_job_definition_arn,
        "nodeOverrides": overrides,
    }
