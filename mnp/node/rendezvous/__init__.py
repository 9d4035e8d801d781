"""How the nodes of a job find each other."""

from __future__ import annotations

from .join import assemble

__all__ = ["assemble"]
