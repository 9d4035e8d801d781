"""`capacity` of the cluster file: where the instances come from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from mnp.cluster.frozen import Frozen


class Reservation(Frozen):
    """An On-Demand Capacity Reservation by id, or a resource group of them by ARN. Nodes run in it and nowhere else."""

    reservation: str = Field(
        pattern=r"^(cr-[0-9a-f]{8,17}|arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_.-]+)$",
        description="a Capacity Reservation id, cr-0123456789abcdef0, or the ARN of a resource group of reservations",
    )

    @property
    def is_group(self) -> bool:
        return self.reservation.startswith("arn:")


class CapacityBlock(Frozen):
    """A Capacity Block for ML, by id. AWS places its instances, and its environment lives as long as the block."""

    capacity_block: str = Field(
        pattern=r"^cr-[0-9a-f]{8,17}$", description="a Capacity Block's id, cr-0123456789abcdef0"
    )


CAPACITIES = (
    "on_demand, reservations_only (any open reservation of the account that matches, never on demand),"
    " {reservation: cr-... or a group's ARN} or {capacity_block: cr-...}"
)


def _capacity_tag(value: Any) -> str:
    if isinstance(value, (Reservation, CapacityBlock)):
        return type(value).__name__
    if isinstance(value, dict):
        return "CapacityBlock" if "capacity_block" in value else "Reservation"
    return "Word"


def _not_spot(value: Any) -> Any:
    if isinstance(value, str) and value.lower() == "spot":
        raise PydanticCustomError(
            "mnp",
            "Spot capacity cannot carry multi-node parallel jobs",
            {
                "allowed": CAPACITIES,
                "reason": "AWS Batch leaves multi-node parallel jobs on a Spot environment in RUNNABLE for ever",
                "fix": "capacity: on_demand",
                "source": "https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html",
            },
        )
    return value


Capacity = Annotated[
    Annotated[Literal["on_demand", "reservations_only"], Tag("Word")]
    | Annotated[Reservation, Tag("Reservation")]
    | Annotated[CapacityBlock, Tag("CapacityBlock")],
    Discriminator(_capacity_tag),
    BeforeValidator(_not_spot),
]
