"""Who this node is among the job's nodes, by AWS Batch, Kubernetes, Slurm or `MNP_*` variables."""

from __future__ import annotations

from .choice import from_environment
from .identity import DEFAULT_PORT, Identity, IdentityError

__all__ = ["DEFAULT_PORT", "Identity", "IdentityError", "from_environment"]
