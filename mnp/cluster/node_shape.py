"""What a whole-node job may ask of one node."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from mnp.cluster.instance_types import InstanceType
from mnp.cluster.interfaces import Layout, efa_devices, network_interfaces

# ECS registers less memory than EC2 sells: the kernel's share and ECS_RESERVED_MEMORY go off. The exact figure per
# type is not published, and a job that asks for more waits for ever, so a tenth is left alone.
# https://docs.aws.amazon.com/batch/latest/userguide/memory-management.html, checked 2026-11-21.
REGISTERED_MEMORY_SHARE = 0.9
# /dev/shm counts as the container's memory only as far as it is filled; half leaves room for the program.
SHARED_MEMORY_SHARE = 0.5


class NodeShape(BaseModel):
    """One node as a job sees it, for clients that register job definitions of their own."""

    # As in the contract that holds it: a field of a newer version is no mistake.
    model_config = ConfigDict(frozen=True, extra="ignore")

    instance_type: str
    vcpus: int
    gpus: int
    memory_mib: int = Field(description="Memory that a job may request, below what ECS registers.")
    shared_memory_mib: int = Field(description="Size of /dev/shm, linuxParameters.sharedMemorySize.")
    neuron_devices: int = Field(0, description="Trainium devices /dev/neuron0 to neuron<n-1>; 0 on GPU types.")
    efa_devices: int = Field(description="Devices /dev/infiniband/uverbs0 to uverbs<n-1>.")


def node_shape(instance_type: InstanceType, layout: Layout) -> NodeShape:
    memory_mib = int(instance_type.memory_mib * REGISTERED_MEMORY_SHARE)
    return NodeShape(
        instance_type=instance_type.name,
        vcpus=instance_type.vcpus,
        gpus=instance_type.gpus,
        neuron_devices=instance_type.neuron_devices,
        memory_mib=memory_mib,
        shared_memory_mib=int(memory_mib * SHARED_MEMORY_SHARE),
        efa_devices=efa_devices(network_interfaces(instance_type, layout)),
    )
