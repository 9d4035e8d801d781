"""`ami` of the cluster file: which image the nodes boot."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from mnp.cluster.frozen import Frozen


class AmiParameter(Frozen):
    """An SSM parameter that holds an image id; read anew at every deploy."""

    parameter: str = Field(
        pattern=r"^/[A-Za-z0-9_.\-/]{1,1000}$", description="name of the SSM parameter, /team/images/gpu"
    )


class Bake(Frozen):
    """What EC2 Image Builder puts into the image beside the EFA driver and the tools that nodes need."""

    pull_image: bool = Field(False, description="also pull the container image (`image`), so that no node has to")


class PrebakedAmi(Frozen):
    """An image of the cluster's own, made by EC2 Image Builder from AWS's; `ami: prebaked` stands for the defaults."""

    prebaked: Bake = Field(description="what goes into the image, {pull_image: true}")


def _ami_tag(value: Any) -> str:
    if isinstance(value, (PrebakedAmi, AmiParameter)):
        return type(value).__name__
    if isinstance(value, dict):
        return "PrebakedAmi" if "prebaked" in value else "AmiParameter"
    return "ImageId"


Ami = Annotated[
    Annotated[Annotated[str, Field(pattern=r"^(ecs|prebaked|ami-[0-9a-f]{8,17})$")], Tag("ImageId")]
    | Annotated[AmiParameter, Tag("AmiParameter")]
    | Annotated[PrebakedAmi, Tag("PrebakedAmi")],
    Discriminator(_ami_tag),
]


def bake_of(ami: str | AmiParameter | PrebakedAmi) -> Bake | None:
    """What is baked into the cluster's own image; None where the nodes boot an image that is there already."""
    if isinstance(ami, PrebakedAmi):
        return ami.prebaked
    return Bake(pull_image=False) if ami == "prebaked" else None
