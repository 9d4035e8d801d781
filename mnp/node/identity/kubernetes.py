"""Kubernetes: an Indexed Job, or one replicated job of a JobSet.

Kubernetes itself sets JOB_COMPLETION_INDEX only; no field of the downward API has the number of completions, hence
MNP_NODE_COUNT. JobSet sets no variable: the manifest takes them from JobSet's annotations, under these names.
Sources (checked 2026-11-21):
https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/
https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
https://github.com/kubernetes-sigs/jobset/blob/main/api/jobset/v1alpha2/jobset_types.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import explicit
from .claim import MOST_ATTEMPTS, MOST_NODES, Claim, number, picked
from .identity import IdentityError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIGNS = ("JOB_COMPLETION_INDEX", "JOBSET_NAME")
_NAMES = (
    *_SIGNS,
    "JOBSET_UID",  # jobset.sigs.k8s.io/jobset-uid, and so on
    "JOBSET_RESTART_ATTEMPT",  # .../restart-attempt, from 0
    "REPLICATED_JOB_NAME",  # .../replicatedjob-name
    "REPLICATED_JOB_REPLICAS",  # .../replicatedjob-replicas
    "JOB_INDEX",  # .../job-index
)
_COUNT = explicit.VARIABLES["count"]
_VARIABLES = {
    "index": "JOB_COMPLETION_INDEX",
    "count": f"{_COUNT} (the Job's completions, for all replicas)",
    "main": "MNP_MAIN_ADDRESS (the main pod's JOB-0.SERVICE, or JOBSET_NAME and REPLICATED_JOB_NAME)",
    "job_id": "MNP_JOB_ID (the label batch.kubernetes.io/controller-uid, or JOBSET_UID)",
}


def read(environ: Mapping[str, str]) -> Claim | None:
    """What Kubernetes says, or None outside of such a Job. Raises IdentityError."""
    if not any(environ.get(name) for name in _SIGNS):
        return None
    seen = picked(environ, (*_NAMES, _COUNT))
    jobset, job = seen.get("JOBSET_NAME"), seen.get("REPLICATED_JOB_NAME")
    restarts = number(seen, "JOBSET_RESTART_ATTEMPT", range(MOST_ATTEMPTS - 1))
    return Claim(
        "Kubernetes",
        _VARIABLES,
        seen,
        job_id=seen.get("JOBSET_UID") or jobset,
        attempt=1 + (restarts or 0),
        index=_index(seen),
        main_index=0,
        # A pod's name in a JobSet's own service; one with another subdomain has MNP_MAIN_ADDRESS set.
        main=f"{jobset}-{job}-0-0.{jobset}" if jobset and job else None,
    )


def _index(seen: Mapping[str, str]) -> int | None:
    """The pod's index over all replicas of its Job, as far as it is known."""
    pod = number(seen, "JOB_COMPLETION_INDEX", range(MOST_NODES))
    replicas = number(seen, "REPLICATED_JOB_REPLICAS", range(1, MOST_NODES + 1)) or 1
    job, count = number(seen, "JOB_INDEX", range(replicas)), number(seen, _COUNT, range(1, MOST_NODES + 1))
    if replicas == 1 or pod is None or count is None:
        return pod
    if count % replicas:
        raise IdentityError(f"{_COUNT} is {count}; allowed: a multiple of REPLICATED_JOB_REPLICAS={replicas}")
    if job is None:
        raise IdentityError(f"JOB_INDEX is not set, but REPLICATED_JOB_REPLICAS={replicas}: one of several Jobs")
    return job * (count // replicas) + pod
