"""The compute environment, its launch template and its placement group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3

from mnp.cluster.base_image import base_image
from mnp.cluster.capacity import CapacityBlock, Reservation
from mnp.cluster.contract import Contract
from mnp.cluster.instance_types import catalogue
from mnp.cluster.interfaces import network_interfaces
from mnp.cluster.model import Cluster
from mnp.commands.verification import Check

ENVIRONMENT = "compute environment"
TEMPLATE = "launch template"


def checks(cluster: Cluster, contract: Contract, session: boto3.Session) -> Iterator[Check]:
    found = session.client("batch").describe_compute_environments(
        computeEnvironments=[contract.compute_environment_arn]
    )["computeEnvironments"]
    yield Check(ENVIRONMENT, "exists", expected=1, found=len(found))
    if found:
        yield from _environment(cluster, contract, session, found[0])
    if contract.placement_group:
        yield from _placement_group(contract, session)
    yield from _launch_template(cluster, contract, session, found[0]["computeResources"] if found else {})


def _environment(cluster: Cluster, contract: Contract, session: boto3.Session, found: Any) -> Iterator[Check]:
    resources = found["computeResources"]
    from_block = isinstance(cluster.capacity, CapacityBlock)
    expected = {
        "type": "EC2",
        "allocationStrategy": "BEST_FIT" if from_block else "BEST_FIT_PROGRESSIVE",
        "minvCpus": 0,
        "maxvCpus": cluster.max_nodes * catalogue()[cluster.instance_type].vcpus,
        "instanceTypes": [cluster.instance_type],
        "subnets": [contract.subnet_id],
    }
    yield Check(ENVIRONMENT, "state", "ENABLED", found["state"])
    yield Check(ENVIRONMENT, "status", "VALID", found["status"])
    for key, value in expected.items():
        yield Check(ENVIRONMENT, key, value, resources.get(key))
    # With any other role Batch updates nothing in place: a change of the launch template would not reach the nodes.
    role = found.get("serviceRole", "").rpartition("/")[2]
    yield Check(ENVIRONMENT, "service role", "AWSServiceRoleForBatch", role)
    yield Check(ENVIRONMENT, "security groups of its own", [], resources.get("securityGroupIds") or [])
    yield Check(ENVIRONMENT, "placementGroup", contract.placement_group, resources.get("placementGroup") or "")
    image = (base_image(catalogue()[cluster.instance_type]).image_type, _image_id(cluster, session))
    images = [(each.get("imageType"), each.get("imageIdOverride")) for each in resources.get("ec2Configuration", [])]
    yield Check(ENVIRONMENT, "image type and id", [image], images)
    longest = found.get("updatePolicy", {}).get("jobExecutionTimeoutMinutes")
    yield Check(ENVIRONMENT, "minutes that an update waits for jobs", cluster.max_job_hours * 60, longest)


def _image_id(cluster: Cluster, session: boto3.Session) -> str | None:
    if cluster.ami_parameter:
        return session.client("ssm").get_parameter(Name=cluster.ami_parameter)["Parameter"]["Value"]
    return None if cluster.ami == "ecs" else str(cluster.ami)


def _placement_group(contract: Contract, session: boto3.Session) -> Iterator[Check]:
    groups = session.client("ec2").describe_placement_groups(
        Filters=[{"Name": "group-name", "Values": [contract.placement_group]}]
    )["PlacementGroups"]
    found = [(group["Strategy"], group["State"]) for group in groups]
    yield Check("placement group", "strategy and state", [("cluster", "available")], found)


def _launch_template(cluster: Cluster, contract: Contract, session: boto3.Session, resources: Any) -> Iterator[Check]:
    used = resources.get("launchTemplate", {})
    yield Check(ENVIRONMENT, "launch template", contract.launch_template_id, used.get("launchTemplateId"))
    versions = session.client("ec2").describe_launch_template_versions(
        LaunchTemplateId=contract.launch_template_id, Versions=["$Latest"]
    )["LaunchTemplateVersions"]
    latest = versions[0]
    yield Check(ENVIRONMENT, "launch template version", str(latest["VersionNumber"]), used.get("version"))
    yield from _template_data(cluster, contract, latest["LaunchTemplateData"])


def _template_data(cluster: Cluster, contract: Contract, data: Any) -> Iterator[Check]:
    layout = network_interfaces(catalogue()[cluster.instance_type], cluster.network_interfaces)
    expected = [(each.network_card_index, each.device_index, each.interface_type) for each in layout]
    interfaces = data.get("NetworkInterfaces", [])
    found = [(each.get("NetworkCardIndex"), each.get("DeviceIndex"), each.get("InterfaceType")) for each in interfaces]
    yield Check(TEMPLATE, "interfaces (card, device, type)", expected, found)
    groups = sorted({group for each in interfaces for group in each.get("Groups", [])})
    yield Check(TEMPLATE, "security groups of the interfaces", [contract.security_group_id], groups)
    metadata = data.get("MetadataOptions", {})
    found_metadata = (metadata.get("HttpTokens"), metadata.get("HttpPutResponseHopLimit"))
    yield Check(TEMPLATE, "IMDSv2 and hop limit", ("required", 1), found_metadata)
    volumes = [each.get("Ebs", {}) for each in data.get("BlockDeviceMappings", [])]
    found_volumes = [(each.get("VolumeSize"), each.get("VolumeType"), each.get("Encrypted")) for each in volumes]
    yield Check(TEMPLATE, "root volume", [(cluster.root_volume_gib, "gp3", True)], found_volumes)
    capacity = data.get("CapacityReservationSpecification", {})
    yield Check(TEMPLATE, "capacity reservation", _reservation(cluster), _reservation_found(capacity))


def _reservation(cluster: Cluster) -> str | None:
    match cluster.capacity:
        case Reservation(reservation=reserved) | CapacityBlock(capacity_block=reserved):
            return reserved
        case "reservations_only":
            return "capacity-reservations-only"
    return None


def _reservation_found(specification: Any) -> str | None:
    target = specification.get("CapacityReservationTarget", {})
    found: str | None = (
        target.get("CapacityReservationId")
        or target.get("CapacityReservationResourceGroupArn")
        or specification.get("CapacityReservationPreference")
    )
    return found
