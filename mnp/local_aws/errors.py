"""What can go wrong with the embedded AWS itself (not with a request made to it)."""

from __future__ import annotations


class LocalAwsError(Exception):
    """The embedded AWS cannot do what was asked; the message says why and what to do."""


class UnsupportedMotoError(LocalAwsError):
    """The installed moto is not the one our extensions were written for."""


class PortTakenError(LocalAwsError):
    """Another program listens on the port asked for."""


class StartError(LocalAwsError):
    """The server process ended, or did not answer in time, while it was being started."""
