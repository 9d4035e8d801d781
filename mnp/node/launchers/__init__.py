"""How each framework is started: one pure function a launcher, each in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .deepspeed import deepspeed
from .env import env
from .horovod import horovod
from .jax import jax
from .launch import Job, Launch
from .mpirun import mpirun
from .ray import ray
from .tensorflow import tensorflow
from .torchrun import torchrun, torchrun_c10d

if TYPE_CHECKING:
    from .launch import Launcher

_ALL: tuple[Launcher, ...] = (deepspeed, env, horovod, jax, mpirun, ray, tensorflow, torchrun, torchrun_c10d)
LAUNCHERS: dict[str, Launcher] = {launcher.__name__.replace("_", "-"): launcher for launcher in _ALL}
ONE_PROCESS_PER_NODE = frozenset({"jax", "ray", "tensorflow"})

__all__ = ["LAUNCHERS", "ONE_PROCESS_PER_NODE", "Job", "Launch"]
