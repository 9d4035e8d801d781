"""The base of all that stands in a cluster file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A mapping of the file: unknown keys and values of another type are mistakes, and nothing changes later."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
