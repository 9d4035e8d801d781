"""What keeps a container from starting."""

from __future__ import annotations


class StartContainerError(Exception):
    """The container was not started; the message becomes its `reason`."""
