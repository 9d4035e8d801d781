"""How the nodes of a job find each other."""

from __future__ import annotations

from .join import DEFAULT_TIMEOUT, assemble

__all__ = ["DEFAULT_TIMEOUT", "assemble"]
