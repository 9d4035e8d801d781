"""A VPC that several clusters share must come out the same from each of their files."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk.assertions import Template

from mnp.cluster.model import Cluster
from mnp.cluster.vpc import SharedVpc
from stacks.clusters import add_clusters
from tests.synth import P5, new_app

ML: dict[str, Any] = {"name": "ml", "cidr": "10.0.0.0/16", "zones": ["us-east-1a", "us-east-1d"]}
OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/a:1"
IN_A = {"name": "in-a", "tags": {"team": "research"}}
IN_D = {"name": "in-d", "availability_zone": "us-east-1d", "instance_type": "p4d.24xlarge"}


def templates(*changes: dict[str, Any], **vpc: Any) -> dict[str, dict[str, Any]]:
    """The templates by stack, of clusters that share the VPC."""
    app = new_app()
    clusters = [Cluster.model_validate(P5 | {"vpc": ML | vpc, "image": OWN_IMAGE} | each) for each in changes]
    add_clusters(app, clusters, account=None)
    return {stack.stack_name: stack.template for stack in app.synth().stacks}


def network(*changes: dict[str, Any], **vpc: Any) -> dict[str, Any]:
    return templates(*changes, **vpc)["mnp-ml-us-east-1-vpc"]


def resources(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    found = template["Resources"].items()
    return {name: resource["Properties"] for name, resource in found if resource["Type"] == kind}


@pytest.fixture(scope="module")
def both() -> dict[str, dict[str, Any]]:
    return templates(IN_A, IN_D)


def test_clusters_share_one_network_stack(both: dict[str, dict[str, Any]]) -> None:
    """Two clusters make three stacks, and no network of their own."""
    assert both.keys() == {"mnp-ml-us-east-1-vpc", "mnp-in-a", "mnp-in-d"}


@pytest.mark.parametrize("changes", [(IN_A,), (IN_D,), (IN_D, IN_A)], ids=["one", "the other", "in another order"])
def test_the_network_is_the_same_whichever_files_are_synthesised(
    both: dict[str, dict[str, Any]], changes: tuple[dict[str, Any], ...]
) -> None:
    """A deploy of one file of several changes nothing in the network: no subnet, no export, no tag."""
    assert network(*changes) == both["mnp-ml-us-east-1-vpc"]


def test_the_order_of_zones_in_the_file_is_nothing(both: dict[str, dict[str, Any]]) -> None:
    """The same zones in another order make the same network."""
    assert network(IN_A, zones=["us-east-1d", "us-east-1a"]) == both["mnp-ml-us-east-1-vpc"]


def test_no_cluster_leaves_its_mark_on_the_network(both: dict[str, dict[str, Any]]) -> None:
    """The network's tags are its own."""
    tags = {
        tag["Key"]
        for each in both["mnp-ml-us-east-1-vpc"]["Resources"].values()
        for tag in each["Properties"].get("Tags", [])
    }
    assert "mnp:network" in tags
    assert not tags & {"mnp:cluster", "team"}


def test_each_cluster_stands_in_the_subnet_of_its_zone(both: dict[str, dict[str, Any]]) -> None:
    """What the cluster's stack imports is the subnet that the model cuts for its zone."""
    made = both["mnp-ml-us-east-1-vpc"]
    subnets = resources(made, "AWS::EC2::Subnet")
    exports = {output["Export"]["Name"]: output["Value"] for output in made["Outputs"].values()}
    vpc = SharedVpc.model_validate(ML)
    for stack, zone in (("mnp-in-a", "us-east-1a"), ("mnp-in-d", "us-east-1d")):
        (environment,) = resources(both[stack], "AWS::Batch::ComputeEnvironment").values()
        (subnet,) = environment["ComputeResources"]["Subnets"]
        properties = subnets[exports[subnet["Fn::ImportValue"]]["Ref"]]
        assert (properties["AvailabilityZone"], properties["CidrBlock"]) == (zone, str(vpc.node_subnet(zone)))


def test_the_vpc_is_cut_as_the_model_says(both: dict[str, dict[str, Any]]) -> None:
    """Each zone has its two subnets and nothing else."""
    vpc = SharedVpc.model_validate(ML)
    found = {
        (each["AvailabilityZone"], each["CidrBlock"])
        for each in resources(both["mnp-ml-us-east-1-vpc"], "AWS::EC2::Subnet").values()
    }
    assert found == {(zone, str(cut(zone))) for zone in vpc.zones for cut in (vpc.node_subnet, vpc.public_subnet)}


def test_nodes_leave_by_the_nat_gateway_of_their_own_zone(both: dict[str, dict[str, Any]]) -> None:
    """No zone depends on another, and nobody pays for traffic between them."""
    made = both["mnp-ml-us-east-1-vpc"]
    subnets = resources(made, "AWS::EC2::Subnet")
    gateways = resources(made, "AWS::EC2::NatGateway")
    tables = {
        each["RouteTableId"]["Ref"]: each["SubnetId"]["Ref"]
        for each in resources(made, "AWS::EC2::SubnetRouteTableAssociation").values()
    }
    routes = [each for each in resources(made, "AWS::EC2::Route").values() if "NatGatewayId" in each]
    assert len(routes) == len(gateways) == 2
    for route in routes:
        nodes = subnets[tables[route["RouteTableId"]["Ref"]]]
        gateway = subnets[gateways[route["NatGatewayId"]["Ref"]]["SubnetId"]["Ref"]]
        assert nodes["AvailabilityZone"] == gateway["AvailabilityZone"]


@pytest.mark.parametrize("zone", ["us-east-1b", "us-east-1f"])
def test_a_zone_that_comes_or_goes_changes_nothing_of_the_others(both: dict[str, dict[str, Any]], zone: str) -> None:
    """Every resource of the zones that stay is as it was, but for the S3 endpoint, which serves the new zone too."""
    before = both["mnp-ml-us-east-1-vpc"]
    after = network(IN_A, zones=[*ML["zones"], zone])
    changed = {name for name, each in before["Resources"].items() if after["Resources"].get(name) != each}
    assert {before["Resources"][name]["Type"] for name in changed} == {"AWS::EC2::VPCEndpoint"}
    assert before["Outputs"].items() <= after["Outputs"].items()


def test_what_serves_the_whole_vpc_is_there_once(both: dict[str, dict[str, Any]]) -> None:
    """One S3 endpoint, in the route tables of all zones, and one flow log."""
    made = Template.from_json(both["mnp-ml-us-east-1-vpc"])
    made.resource_count_is("AWS::EC2::FlowLog", 1)
    (endpoint,) = resources(both["mnp-ml-us-east-1-vpc"], "AWS::EC2::VPCEndpoint").values()
    assert len(endpoint["RouteTableIds"]) == 4


def test_interface_endpoints_stand_in_every_zone() -> None:
    """Without NAT gateways, nodes of each zone find the endpoints in their own."""
    made = network(IN_A, nat_gateway=False, interface_endpoints=True)
    nodes = resources(made, "AWS::EC2::Subnet")
    endpoints = resources(made, "AWS::EC2::VPCEndpoint").values()
    inside = [{each["Ref"] for each in endpoint["SubnetIds"]} for endpoint in endpoints if "SubnetIds" in endpoint]
    assert inside
    assert all(subnets == nodes.keys() for subnets in inside)
    assert not resources(made, "AWS::EC2::NatGateway")


def test_one_name_in_two_regions_is_two_vpcs() -> None:
    """An app may hold both, and each cluster stands in that of its region."""
    west = {"name": "in-west", "region": "us-west-2", "availability_zone": "us-west-2a"}
    found = templates(IN_A, west | {"vpc": ML | {"zones": ["us-west-2a"]}})
    assert found.keys() == {"mnp-ml-us-east-1-vpc", "mnp-ml-us-west-2-vpc", "mnp-in-a", "mnp-in-west"}
