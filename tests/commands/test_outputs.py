"""`mnp outputs` and how a cluster is found. Each test has a region of its own, so that they cannot meet."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from mnp.cluster.contract import parameter_name
from tests.commands.command_line import CommandLine
from tests.commands.example_contract import example_contract

PutParameter = Callable[[str, str, str], None]


def test_json_is_the_contract(mnp: CommandLine, put_parameter: PutParameter) -> None:
    """`mnp outputs` prints the contract as JSON on standard output, and nothing else anywhere."""
    contract = example_contract(region="eu-west-1")
    put_parameter("eu-west-1", parameter_name("demo"), contract.model_dump_json())
    done = mnp("outputs", "--cluster", "demo", "--region", "eu-west-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == contract.model_dump()


def test_env_lines_survive_a_shell(mnp: CommandLine, put_parameter: PutParameter) -> None:
    """`eval "$(mnp outputs --format env)"` sets every value as it is, whatever characters it holds."""
    image = 'it\'s $(touch pwned); `id` "x" \\ é'
    put_parameter("eu-west-2", parameter_name("demo"), example_contract(image=image).model_dump_json())
    done = mnp("outputs", "--format", "env", AWS_REGION="eu-west-2")
    shell = subprocess.run(
        ["/bin/sh", "-c", f'{done.stdout}\nprintf "%s|%s" "$MNP_IMAGE" "$MNP_NODE_EFA_DEVICES"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shell.stdout == f"{image}|32"


def test_the_only_cluster_needs_no_name(mnp: CommandLine, put_parameter: PutParameter) -> None:
    """Where a region holds one cluster, it is the one meant."""
    put_parameter("eu-west-3", parameter_name("alone"), example_contract(cluster="alone").model_dump_json())
    assert json.loads(mnp("outputs", AWS_REGION="eu-west-3").stdout)["cluster"] == "alone"


def test_two_clusters_need_a_name(mnp: CommandLine, put_parameter: PutParameter) -> None:
    """With several clusters and no name, they are listed and nothing is guessed."""
    for name in ("one", "two"):
        put_parameter("eu-north-1", parameter_name(name), example_contract(cluster=name).model_dump_json())
    done = mnp("outputs", AWS_REGION="eu-north-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 clusters in eu-north-1: one, two" in done.stderr
    assert "--cluster" in done.stderr
    assert json.loads(mnp("outputs", AWS_REGION="eu-north-1", MNP_CLUSTER="two").stdout)["cluster"] == "two"


@pytest.mark.parametrize("arguments", [(), ("--cluster", "nowhere")])
def test_an_unknown_cluster_is_a_usage_error(mnp: CommandLine, arguments: tuple[str, ...]) -> None:
    """A cluster that is not there ends with 2, the parameter looked for and the way to get one."""
    done = mnp("outputs", *arguments, "--region", "sa-east-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "sa-east-1" in done.stderr
    assert "/mnp/" in done.stderr
    assert "cdk deploy" in done.stderr


def test_a_broken_parameter_is_named(mnp: CommandLine, put_parameter: PutParameter) -> None:
    """A parameter that is no contract ends with 1 and a message that names it, without a traceback."""
    put_parameter("ca-central-1", parameter_name("broken"), "{")
    done = mnp("outputs", "--region", "ca-central-1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "SSM parameter /mnp/broken is not JSON" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_region_is_a_usage_error(mnp: CommandLine) -> None:
    """Without a region nothing is asked; the message says how to give one."""
    del mnp.environ["AWS_REGION"]
    done = mnp("outputs")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--region" in done.stderr


def test_no_credentials_are_explained(mnp: CommandLine) -> None:
    """Without credentials the message says how to sign in."""
    del mnp.environ["AWS_ACCESS_KEY_ID"], mnp.environ["AWS_SECRET_ACCESS_KEY"]
    done = mnp("outputs")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no AWS credentials" in done.stderr
    assert "aws sso login" in done.stderr


def test_an_endpoint_that_is_down_is_explained(mnp: CommandLine, unused_port: int) -> None:
    """When nothing answers at the endpoint, the message names it and what to check."""
    done = mnp("outputs", AWS_ENDPOINT_URL=f"http://localhost:{unused_port}")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"http://localhost:{unused_port}" in done.stderr
    assert "AWS_ENDPOINT_URL" in done.stderr
    assert "Traceback" not in done.stderr
