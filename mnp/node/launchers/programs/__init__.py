"""Programs that a launch copies into the job's folder and starts there.

They import nothing of ours: the user's command, which some of them start, then needs no PYTHONPATH that is not its own.
"""

from __future__ import annotations

import pkgutil


def source(name: str) -> str:
    """The text of a program, also out of a zip application."""
    text = pkgutil.get_data(__name__, name)
    if text is None:
        raise FileNotFoundError(name)
    return text.decode()
