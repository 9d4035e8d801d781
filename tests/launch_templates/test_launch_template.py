from __future__ import annotations

import base64
from typing import Any

import pytest

from launch_templates.launch_template import launch_template_data
from launch_templates.user_data import user_data
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from tests.synth import P5

TYPES = sorted(catalogue())
RESERVATION = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"


def data_of(**changes: Any) -> dict[str, Any]:
    cluster = Cluster.model_validate(P5 | changes)
    return launch_template_data(cluster, security_group_id="sg-1", tags={"mnp:cluster": "test"})


@pytest.mark.parametrize("name", TYPES)
def test_every_interface_has_the_group_and_nothing_that_batch_or_ec2_refuses(name: str) -> None:
    """One group list everywhere, gone with the instance, no subnet (Batch's) and no public address (EC2 refuses it)."""
    for interface in data_of(instance_type=name)["NetworkInterfaces"]:
        assert interface.keys() == {
            "NetworkCardIndex",
            "DeviceIndex",
            "InterfaceType",
            "Groups",
            "DeleteOnTermination",
        }
        assert interface["Groups"] == ["sg-1"]
        assert interface["DeleteOnTermination"] is True


@pytest.mark.parametrize("name", TYPES)
def test_every_efa_of_the_type_is_attached(name: str) -> None:
    """The launch template asks for as many EFAs as the instance type has."""
    kinds = [each["InterfaceType"] for each in data_of(instance_type=name)["NetworkInterfaces"]]
    assert sum(kind != "interface" for kind in kinds) == catalogue()[name].maximum_efa_interfaces


def test_metadata_needs_a_token_and_does_not_leave_the_host() -> None:
    """IMDSv2 only, hop limit 1: a container on a bridge gets no instance credentials."""
    assert data_of()["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
    }


def test_root_volume_is_encrypted_gp3_of_the_size_in_the_file() -> None:
    """Data at rest is encrypted, and the volume goes with its instance."""
    (device,) = data_of(root_volume_gib=500)["BlockDeviceMappings"]
    assert device["DeviceName"] == "/dev/xvda"
    assert device["Ebs"] == {
        "VolumeSize": 500,
        "VolumeType": "gp3",
        "Throughput": 500,
        "Encrypted": True,
        "DeleteOnTermination": True,
    }


def test_a_node_that_powers_itself_off_is_gone() -> None:
    """One that refuses work neither stays, stopped, nor leaves a volume that is paid for."""
    assert data_of()["InstanceInitiatedShutdownBehavior"] == "terminate"
    (device,) = data_of()["BlockDeviceMappings"]
    assert device["Ebs"]["DeleteOnTermination"] is True


def test_user_data_is_base64_of_the_document() -> None:
    """Encoded once: twice would leave cloud-init with text that it ignores in silence."""
    text = user_data(Cluster.model_validate(P5))
    assert base64.b64decode(data_of()["UserData"]).decode() == text


def test_instances_volumes_and_interfaces_carry_the_tags() -> None:
    """Whoever reads the bill finds the cluster on everything that costs."""
    specifications = data_of()["TagSpecifications"]
    assert {each["ResourceType"] for each in specifications} == {"instance", "volume", "network-interface"}
    assert all(each["Tags"] == [{"Key": "mnp:cluster", "Value": "test"}] for each in specifications)


@pytest.mark.parametrize(
    ("capacity", "market", "specification"),
    [
        ("on_demand", None, None),
        ("reservations_only", None, {"CapacityReservationPreference": "capacity-reservations-only"}),
        ({"reservation": RESERVATION}, None, {"CapacityReservationTarget": {"CapacityReservationId": RESERVATION}}),
        ({"reservation": GROUP}, None, {"CapacityReservationTarget": {"CapacityReservationResourceGroupArn": GROUP}}),
        (
            {"capacity_block": RESERVATION},
            "capacity-block",
            {"CapacityReservationTarget": {"CapacityReservationId": RESERVATION}},
        ),
    ],
)
def test_capacity_is_asked_for_as_the_file_says(
    capacity: Any, market: str | None, specification: dict[str, Any] | None
) -> None:
    """On demand asks for nothing special; EC2 takes a target or a preference, never both; a block is a market type."""
    data = data_of(capacity=capacity)
    assert data.get("InstanceMarketOptions", {}).get("MarketType") == market
    assert data.get("CapacityReservationSpecification") == specification
