"""The check that the installed moto is the one our extensions were written for."""

from __future__ import annotations

from importlib.metadata import version

from mnp.local_aws.errors import UnsupportedMotoError

SUPPORTED = "5.2"


def check_moto_version() -> None:
    """Refuse to extend a moto whose internals were never looked at.

    Raises:
        UnsupportedMotoError: The installed moto is not a 5.2.x.
    """
    installed = version("moto")
    if installed.split(".")[:2] != SUPPORTED.split("."):
        raise UnsupportedMotoError(
            f"mnp.local_aws extends moto {SUPPORTED}.x, but moto {installed} is installed. "
            f"Its internals may differ. Install the version pinned by mnp's extra: pip install 'mnp[local]'."
        )
