"""What a node should be, as the job definition says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ShapeError(Exception):
    """MNP_NODE_SHAPE is not readable."""


@dataclass(frozen=True)
class NodeShape:
    """The hardware a node of the cluster has."""

    instance_type: str
    gpus: int
    efa_devices: int
    neuron_devices: int = 0


def from_environment(environ: Mapping[str, str]) -> NodeShape | None:
    """The shape in MNP_NODE_SHAPE, None if it is not set. Raises ShapeError."""
    text = environ.get("MNP_NODE_SHAPE")
    if not text:
        return None
    try:
        shape = json.loads(text)
        numbers = int(shape["gpus"]), int(shape["efa_devices"]), int(shape.get("neuron_devices", 0))
        return NodeShape(str(shape["instance_type"]), *numbers)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ShapeError(
            f"MNP_NODE_SHAPE is {text!r}; want a JSON object with instance_type, gpus and efa_devices"
        ) from None
