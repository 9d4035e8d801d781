"""How each framework is started: one pure function a launcher, each in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .env import env
from .launch import Job, Launch
from .torchrun import torchrun

if TYPE_CHECKING:
    from .launch import Launcher

LAUNCHERS: dict[str, Launcher] = {launcher.__name__: launcher for launcher in (env, torchrun)}

__all__ = ["LAUNCHERS", "Job", "Launch"]
