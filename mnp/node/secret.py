"""The cluster's secret: in the environment, or in a file that not everybody can read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a launch must not hand on to the processes that it starts.
VARIABLES = ("MNP_SECRET", "MNP_SECRET_FILE")
_MOST_BYTES = 4096  # of the file; a secret needs 32


class SecretError(Exception):
    """The secret cannot be had, or others could have it too."""


def read(environ: Mapping[str, str]) -> str | None:
    """The secret, None if none is given. Raises SecretError."""
    direct, path = (environ.get(name) for name in VARIABLES)
    if not path:
        return direct or None
    if direct:
        raise SecretError(f"MNP_SECRET and MNP_SECRET_FILE={path} are both set: unset one")
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - the file that is checked is the one that is read
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SecretError(f"MNP_SECRET_FILE={path} cannot be read: {error.strerror or error}") from None
    if mode & stat.S_IRWXO:
        raise SecretError(
            f"MNP_SECRET_FILE={path} has mode {mode:04o}, so other users of this host have a hand in it: chmod 600 it"
            " (Kubernetes: defaultMode 0400 of the volume)"
        )
    try:
        secret = content.decode().strip()
    except UnicodeDecodeError:
        raise SecretError(f"MNP_SECRET_FILE={path} is not text in UTF-8") from None
    if not secret or len(content) > _MOST_BYTES:
        raise SecretError(f"MNP_SECRET_FILE={path} has {len(content)} bytes; allowed: 1 to {_MOST_BYTES}, not blank")
    return secret
