"""The launch template of a cluster's nodes, as a pure function from the cluster to EC2's own request data."""

from __future__ import annotations

import base64
from typing import Any

from launch_templates.user_data import user_data
from mnp.cluster.capacity import CapacityBlock, Reservation
from mnp.cluster.instance_types import catalogue
from mnp.cluster.interfaces import NetworkInterface, network_interfaces
from mnp.cluster.model import Cluster

# The one root device of the AL2023 ECS images: https://github.com/aws/amazon-ecs-ami, checked 2026-11-21.
ROOT_DEVICE = "/dev/xvda"
# gp3's default of 125 MiB/s makes the pull of a 20 GB image disk-bound; gp3 gives 0.25 MiB/s for each of its 3,000
# IOPS: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html, checked 2026-11-21.
ROOT_VOLUME_MIB_PER_SECOND = 500


def launch_template_data(cluster: Cluster, *, security_group_id: str, tags: dict[str, str]) -> dict[str, Any]:
    """RequestLaunchTemplateData for a node, in the API's (and CloudFormation's) spelling.

    Instance type, instance role, subnet and placement are the compute environment's, which overrules or ignores them
    here: https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html, checked 2026-11-21. No interface
    asks for a public address: EC2 refuses that for a launch with several interfaces.
    """
    interfaces = network_interfaces(catalogue()[cluster.instance_type], cluster.network_interfaces)
    return {
        "BlockDeviceMappings": [root_volume(cluster.root_volume_gib)],
        # A node that refuses work powers itself off: only stopped, it would stay, and its volume be paid for.
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "NetworkInterfaces": [_network_interface(each, security_group_id) for each in interfaces],
        "TagSpecifications": [
            {"ResourceType": resource, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
            for resource in ("instance", "volume", "network-interface")
        ],
        "UserData": base64.b64encode(user_data(cluster).encode("ascii")).decode("ascii"),
        **_capacity(cluster.capacity),
    }


def root_volume(gib: int) -> dict[str, Any]:
    """The block device mapping of a node's one volume; a prebaked image is made with the same."""
    return {
        "DeviceName": ROOT_DEVICE,
        "Ebs": {
            "VolumeSize": gib,
            "VolumeType": "gp3",
            "Throughput": ROOT_VOLUME_MIB_PER_SECOND,
            "Encrypted": True,
            "DeleteOnTermination": True,
        },
    }


def _network_interface(interface: NetworkInterface, security_group_id: str) -> dict[str, Any]:
    return {
        "NetworkCardIndex": interface.network_card_index,
        "DeviceIndex": interface.device_index,
        "InterfaceType": interface.interface_type,
        "Groups": [security_group_id],
        "DeleteOnTermination": True,
    }


def _capacity(capacity: str | Reservation | CapacityBlock) -> dict[str, Any]:
    if capacity == "reservations_only":
        return {"CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only"}}
    if isinstance(capacity, Reservation):
        kind = "CapacityReservationResourceGroupArn" if capacity.is_group else "CapacityReservationId"
        return {"CapacityReservationSpecification": {"CapacityReservationTarget": {kind: capacity.reservation}}}
    if isinstance(capacity, CapacityBlock):
        target = {"CapacityReservationId": capacity.capacity_block}
        return {
            "InstanceMarketOptions": {"MarketType": "capacity-block"},
            "CapacityReservationSpecification": {"CapacityReservationTarget": target},
        }
    return {}
