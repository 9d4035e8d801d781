"""The images that AWS keeps for ECS, by the kind of accelerator: what a node boots, or a prebaked image starts from."""

from __future__ import annotations

from dataclasses import dataclass

from mnp.cluster.instance_types import InstanceType

_PARAMETERS = "/aws/service/ecs/optimized-ami/amazon-linux-2023"


@dataclass(frozen=True, slots=True)
class BaseImage:
    """`image_type` is Batch's name for the kind of image, `parameter` the public one that holds the newest image's id.

    `is_batchs_choice` says whether Batch itself takes the newest image of that kind if no image id is given.
    """

    image_type: str
    parameter: str
    is_batchs_choice: bool


# https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html and
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html, checked 2026-11-21.
NVIDIA = BaseImage("ECS_AL2023_NVIDIA", f"{_PARAMETERS}/gpu/recommended/image_id", is_batchs_choice=True)
# Batch has no image type of its own for Trainium: ECS_AL2023 is the one without a GPU driver, and an id overrides it.
NEURON = BaseImage("ECS_AL2023", f"{_PARAMETERS}/neuron/recommended/image_id", is_batchs_choice=False)


def base_image(instance_type: InstanceType) -> BaseImage:
    return NEURON if instance_type.accelerator.kind == "neuron" else NVIDIA
