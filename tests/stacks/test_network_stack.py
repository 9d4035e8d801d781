from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Match, Template

from mnp.cluster.model import Cluster
from mnp.cluster.subnets import INTERFACE_ENDPOINTS, node_subnet, public_subnet
from mnp.cluster.vpc import NewVpc
from stacks import network_stack
from stacks.clusters import add_cluster
from tests.synth import P5, feature_flags, new_app


def network_of(**vpc: Any) -> Template:
    cluster = Cluster.model_validate(P5 | {"vpc": vpc, "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/a:1"})
    app = new_app()
    add_cluster(app, cluster, account=None)
    return Template.from_stack(app.node.find_child("mnp-test-network"))  # type: ignore[arg-type] # a Stack, found by id


@pytest.fixture(scope="module")
def default() -> Template:
    return network_of()


def subnets(template: Template) -> dict[str, dict[str, Any]]:
    found = template.find_resources("AWS::EC2::Subnet").values()
    return {subnet["Properties"]["CidrBlock"]: subnet["Properties"] for subnet in found}


def test_nodes_have_a_private_subnet_in_the_files_zone(default: Template) -> None:
    """Nodes stand in one zone, since EFA crosses none, and get no public address."""
    cidr = NewVpc().cidr
    found = subnets(default)
    assert found.keys() == {str(node_subnet(cidr)), str(public_subnet(cidr))}
    assert all(each["AvailabilityZone"] == "us-east-1a" for each in found.values())
    assert not any(each["MapPublicIpOnLaunch"] for each in found.values())


@pytest.mark.parametrize("cidr", ["10.0.0.0/26", "172.31.0.0/20", "10.0.0.0/16"])
def test_the_vpc_is_cut_as_the_model_says(cidr: str) -> None:
    """The rule that counts addresses and the stack that makes subnets never disagree."""
    vpc = NewVpc.model_validate({"cidr": cidr}).cidr
    assert subnets(network_of(cidr=cidr)).keys() == {str(node_subnet(vpc)), str(public_subnet(vpc))}


def test_names_resolve_within_the_vpc(default: Template) -> None:
    """Frameworks exchange host names; without DNS they wait for minutes."""
    default.has_resource_properties("AWS::EC2::VPC", {"EnableDnsSupport": True, "EnableDnsHostnames": True})


def test_s3_is_reached_without_the_nat_gateway(default: Template) -> None:
    """Data from S3 costs nothing by the gateway endpoint, and a NAT gateway's fee per gigabyte otherwise."""
    default.has_resource_properties("AWS::EC2::VPCEndpoint", {"VpcEndpointType": "Gateway"})


def test_traffic_is_logged_for_a_bounded_time(default: Template) -> None:
    """Flow logs are on, and do not pile up."""
    default.resource_count_is("AWS::EC2::FlowLog", 1)
    default.has_resource_properties("AWS::Logs::LogGroup", {"RetentionInDays": 30})


def test_the_default_security_group_keeps_its_rules(default: Template) -> None:
    """A task's interface may get the default group; a custom resource that empties it would cut the nodes off."""
    default.resource_count_is("Custom::VpcRestrictDefaultSG", 0)
    default.resource_count_is("AWS::Lambda::Function", 0)


def test_without_nat_there_is_no_way_to_the_internet() -> None:
    """An isolated cluster has private endpoints for everything that nodes call, and no gateway to anywhere else."""
    isolated = network_of(nat_gateway=False, interface_endpoints=True)
    for gone in ("AWS::EC2::NatGateway", "AWS::EC2::InternetGateway", "AWS::EC2::EIP"):
        isolated.resource_count_is(gone, 0)
    interface = {"Properties": {"VpcEndpointType": "Interface", "PrivateDnsEnabled": True}}
    endpoints = isolated.find_resources("AWS::EC2::VPCEndpoint", interface)
    assert len(endpoints) == len(network_stack.INTERFACE_ENDPOINTS)
    isolated.has_resource_properties("AWS::EC2::VPCEndpoint", {"ServiceName": Match.any_value()})


def test_the_rule_knows_how_many_addresses_endpoints_take() -> None:
    """Each interface endpoint takes an address of the nodes' subnet, which the rule subtracts."""
    assert len(network_stack.INTERFACE_ENDPOINTS) == INTERFACE_ENDPOINTS


def test_nothing_is_looked_up(tmp_path: Path) -> None:
    """Synth with a known account asks AWS for nothing: no zones, no VPCs."""
    app = cdk.App(context=feature_flags(), outdir=str(tmp_path))
    add_cluster(app, Cluster.model_validate(P5), account="123456789012")
    app.synth()
    assert "missing" not in json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
