"""SSH between the nodes of one job, for launchers that start their processes with it; gone with the job."""

from __future__ import annotations

from .mesh import ssh_between_nodes

__all__ = ["ssh_between_nodes"]
