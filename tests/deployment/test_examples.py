"""The examples that need nothing but an account, as clusters of one app: deployed, and compared with their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mnp.cluster.cluster_file import load
from mnp.cluster.plan import plan
from mnp.local_aws.server import LocalAws
from tests.deployment.deployment import Deployment, copy_of_example

pytestmark = pytest.mark.end_to_end

# Not existing-vpc.yaml: its ids stand for resources that somebody else has made.
SHARED = ("shared-vpc-research.yaml", "shared-vpc-training.yaml")
EXAMPLES = ("capacity-block.yaml", "isolated.yaml", "p5.yaml", "prebaked.yaml", *SHARED)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("examples")
    return {name: copy_of_example(name, folder) for name in EXAMPLES}


@pytest.fixture(scope="module")
def deployment(files: dict[str, Path]) -> Iterator[Deployment]:
    """All of them by one `cdk deploy`, in two regions."""
    regions = sorted({load(file).cluster.region for file in files.values()})
    with LocalAws() as aws:
        found = Deployment(aws, files["p5.yaml"].parent, tuple(files.values()))
        found.cdk("bootstrap", *(f"aws://123456789012/{region}" for region in regions))
        found.deploy()
        yield found


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_its_file_means(deployment: Deployment, files: dict[str, Path], name: str) -> None:
    """Every fact that the services tell of a deployed example is as its file says."""
    assert "0 differ" in deployment.mnp("verify", str(files[name])).stderr


def test_a_new_block_replaces_the_environment_under_the_queue(deployment: Deployment, files: dict[str, Path]) -> None:
    """The environment of a block ends with it: another block's id makes a new one, and the same queue leads to it."""
    block = load(files["capacity-block.yaml"]).cluster
    before = deployment.contract(block.name, block.region)
    deployment.change(files["capacity-block.yaml"], capacity="{capacity_block: cr-00000000000000001}")
    deployment.deploy(f"mnp-{block.name}")
    after = deployment.contract(block.name, block.region)
    assert after["queue_arn"] == before["queue_arn"]
    assert after["compute_environment_arn"] != before["compute_environment_arn"]
    found = deployment.client("batch", block.region).describe_compute_environments()["computeEnvironments"]
    arns = {each["computeEnvironmentArn"] for each in found}
    assert after["compute_environment_arn"] in arns
    assert before["compute_environment_arn"] not in arns
    assert "0 differ" in deployment.mnp("verify", str(files["capacity-block.yaml"])).stderr


def image_of(deployment: Deployment, cluster: str) -> str:
    """The image of the cluster's environment, which EC2 must have."""
    arns = [deployment.contract(cluster)["compute_environment_arn"]]
    (found,) = deployment.client("batch").describe_compute_environments(computeEnvironments=arns)["computeEnvironments"]
    (configured,) = found["computeResources"]["ec2Configuration"]
    (image,) = deployment.client("ec2").describe_images(ImageIds=[configured["imageIdOverride"]])["Images"]
    return str(image["ImageId"])


def test_a_changed_recipe_gives_the_environment_another_image(deployment: Deployment, files: dict[str, Path]) -> None:
    """The image's stack bakes, the cluster's reads the new id: in place, and by one deploy that names the cluster."""
    cluster = load(files["prebaked.yaml"]).cluster
    before = image_of(deployment, cluster.name), deployment.contract(cluster.name)["compute_environment_arn"]
    deployment.change(files["prebaked.yaml"], ami="prebaked")
    deployment.deploy(f"mnp-{cluster.name}")
    after = image_of(deployment, cluster.name), deployment.contract(cluster.name)["compute_environment_arn"]
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert "0 differ" in deployment.mnp("verify", str(files["prebaked.yaml"])).stderr


def test_an_image_of_the_pipeline_reaches_the_environment_by_the_next_deploy(
    deployment: Deployment, files: dict[str, Path]
) -> None:
    """With the file as it was: CloudFormation reads the parameter anew, and finds the only change there."""
    cluster = load(files["prebaked.yaml"]).cluster
    before = image_of(deployment, cluster.name)
    stack = deployment.client("cloudformation").describe_stack_resources(StackName=f"mnp-{cluster.name}-image")
    (pipeline,) = [
        each["PhysicalResourceId"]
        for each in stack["StackResources"]
        if each["ResourceType"] == "AWS::ImageBuilder::ImagePipeline"
    ]
    deployment.client("imagebuilder").start_image_pipeline_execution(imagePipelineArn=pipeline)
    assert image_of(deployment, cluster.name) == before
    assert "1 differ" in deployment.mnp("verify", str(files["prebaked.yaml"]), check=False).stderr
    deployment.deploy(f"mnp-{cluster.name}")
    assert image_of(deployment, cluster.name) != before


def network_of(deployment: Deployment, stack: str) -> dict[str, Any]:
    """The resources of a stack by logical id, when they were last changed, and what EC2 knows of VPC and subnets."""
    cloudformation = deployment.client("cloudformation")
    (described,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    found = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    (vpc,) = [each["PhysicalResourceId"] for each in found if each["ResourceType"] == "AWS::EC2::VPC"]
    ec2, inside = deployment.client("ec2"), [{"Name": "vpc-id", "Values": [vpc]}]
    return {
        "updated": described.get("LastUpdatedTime"),
        "outputs": described["Outputs"],
        "resources": {each["LogicalResourceId"]: (each["PhysicalResourceId"], each["Timestamp"]) for each in found},
        "subnets": ec2.describe_subnets(Filters=inside)["Subnets"],
        "routes": ec2.describe_route_tables(Filters=inside)["RouteTables"],
        "gateways": ec2.describe_nat_gateways(Filters=inside)["NatGateways"],
        "endpoints": ec2.describe_vpc_endpoints(Filters=inside)["VpcEndpoints"],
    }


def test_clusters_that_share_a_vpc_stand_in_it_in_their_own_zones(
    deployment: Deployment, files: dict[str, Path]
) -> None:
    """One VPC, and in it a subnet for each cluster."""
    contracts = [deployment.contract(load(files[name]).cluster.name) for name in SHARED]
    assert len({contract["vpc_id"] for contract in contracts}) == 1
    assert len({contract["subnet_id"] for contract in contracts}) == 2


def test_a_deploy_of_one_cluster_changes_nothing_in_the_shared_network(
    deployment: Deployment, files: dict[str, Path]
) -> None:
    """From one file of two, with the cluster of the other unknown, the network is left as it is."""
    stack = plan(load(files[SHARED[0]]).cluster).stacks[0]
    before = network_of(deployment, stack)
    deployment.change(files[SHARED[0]], max_nodes=6)
    replace(deployment, files=(files[SHARED[0]],)).deploy()
    assert network_of(deployment, stack) == before
    for name in SHARED:
        assert "0 differ" in deployment.mnp("verify", str(files[name])).stderr


def test_the_end_of_one_cluster_leaves_the_other_whole(deployment: Deployment, files: dict[str, Path]) -> None:
    """A cluster's stack is destroyed by itself; the network and the cluster beside it stay."""
    gone, stays = (load(files[name]).cluster for name in SHARED)
    network, *_ = plan(stays).stacks
    before = network_of(deployment, network)
    replace(deployment, files=(files[SHARED[0]],)).cdk("destroy", f"mnp-{gone.name}", "--force")
    assert network_of(deployment, network) == before
    queues = deployment.client("batch").describe_job_queues()["jobQueues"]
    assert gone.name not in {queue["jobQueueName"] for queue in queues}
    assert "0 differ" in deployment.mnp("verify", str(files[SHARED[1]])).stderr
