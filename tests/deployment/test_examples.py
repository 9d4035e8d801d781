"""The examples that need nothing but an account, as clusters of one app: deployed, and compared with their files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnp.cluster.cluster_file import load
from mnp.local_aws.server import LocalAws
from tests.deployment.deployment import Deployment, copy_of_example

pytestmark = pytest.mark.end_to_end

# Not existing-vpc.yaml: its ids stand for resources that somebody else has made.
EXAMPLES = ("capacity-block.yaml", "isolated.yaml", "p5.yaml")


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
