"""Whatever a cluster file holds, it becomes stacks that keep every rule, or is refused with words that name the key."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
import yaml
from cfnlint.api import lint
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

import app as cdk_app
from mnp.cluster.cluster_file import load
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from mnp.cluster.problems import ClusterFileError
from tests.stacks.ec2_rules import broken_rules
from tests.synth import feature_flags

pytestmark = pytest.mark.slow

RESERVATION = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1.2"
EXISTING = {"id": "vpc-0123456789abcdef0", "subnet": "subnet-0123456789abcdef0"}

cidrs = st.sampled_from(["10.0.0.0/16", "10.1.0.0/20", "172.20.0.0/22", "192.168.0.0/24", "10.0.0.0/26"])
egress = st.sampled_from(
    [{}, {"interface_endpoints": True}, {"nat_gateway": False}, {"nat_gateway": False, "interface_endpoints": True}]
)
new_vpcs = st.builds(lambda cidr, way: {"cidr": cidr} | way, cidrs, egress)
shared_vpcs = st.builds(
    lambda vpc, zones: vpc | {"name": "shared", "zones": zones},
    new_vpcs,
    st.sampled_from([["us-east-1a"], ["us-east-1a", "us-east-1d"], ["us-east-1b", "us-east-1c"]]),
)
existing_vpcs = st.sampled_from([EXISTING, EXISTING | {"default_security_group": "sg-0123456789abcdef0"}])

required = {
    "name": st.from_regex(r"[a-z][a-z0-9-]{0,38}[a-z0-9]", fullmatch=True),
    "region": st.just("us-east-1"),
    "availability_zone": st.sampled_from(["us-east-1a", "us-east-1d"]),
    "instance_type": st.sampled_from(sorted(catalogue())),
    "max_nodes": st.integers(2, 1000),
}
optional: dict[str, st.SearchStrategy[Any]] = {
    "capacity": st.sampled_from(
        [
            "on_demand",
            "reservations_only",
            {"reservation": RESERVATION},
            {"reservation": GROUP},
            {"capacity_block": RESERVATION},
        ]
    ),
    "network_interfaces": st.sampled_from(["shared", "separate", "efa"]),
    "placement_group": st.booleans(),
    "vpc": new_vpcs | shared_vpcs | existing_vpcs,
    "ami": st.sampled_from(
        ["ecs", "ami-0123456789abcdef0", {"parameter": "/images/gpu"}, "prebaked", {"prebaked": {"pull_image": True}}]
    ),
    "efa_installer": st.booleans(),
    "ssh_cidrs": st.lists(st.sampled_from(["10.0.0.0/8", "203.0.113.0/24", "0.0.0.0/0"]), max_size=3, unique=True),
    "ssh_open_to_world": st.booleans(),
    "root_volume_gib": st.integers(100, 16384),
    "scratch": st.booleans(),
    "image": st.just(OWN_IMAGE),
    "max_job_hours": st.integers(1, 120),
    "max_queue_hours": st.integers(1, 24),
    "tags": st.dictionaries(st.sampled_from(["team", "cost centre", "Name"]), st.text("abc +-=._:/@", max_size=20)),
}


def synthesise(file: Path, outdir: Path) -> list[Path]:
    """The templates of the file, as `cdk deploy` would have them: with cdk-nag and the CDK's validation."""
    context = feature_flags() | {"cluster": str(file), "aws:cdk:enable-path-metadata": True}
    app = cdk.App(context=context, outdir=str(outdir), analytics_reporting=False)
    cdk_app.build(app)
    app.synth()
    return sorted(outdir.glob("*.template.json"))


def findings(templates: list[Path], cluster: Cluster) -> list[str]:
    """What cfn-lint and EC2's rules say against the templates."""
    found = [str(match) for file in templates for match in lint(file.read_text(), regions=[cluster.region])]
    resources = [
        resource
        for file in templates
        for resource in yaml.safe_load(file.read_text())["Resources"].values()
        if resource["Type"] in {"AWS::EC2::LaunchTemplate", "AWS::Batch::ComputeEnvironment"}
    ]
    properties = {resource["Type"]: resource["Properties"] for resource in resources}
    data = properties["AWS::EC2::LaunchTemplate"]["LaunchTemplateData"]
    environment = properties["AWS::Batch::ComputeEnvironment"]
    return found + broken_rules(data, environment, catalogue()[cluster.instance_type])


# Each example takes seconds: one that fails is shown as it was drawn, since to shrink it would take half an hour.
SLOW = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


@SLOW
@given(st.fixed_dictionaries(required, optional=optional))
def test_a_file_becomes_stacks_that_keep_every_rule_or_is_refused_by_key(content: dict[str, Any]) -> None:
    """No combination of allowed values passes the check of the file and then fails, in synth, lint or EC2's rules."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.yaml")
        file.write_text(yaml.safe_dump(content))
        try:
            cluster = load(file).cluster
        except ClusterFileError as error:
            keys = {problem.key.partition(".")[0] for problem in error.problems if problem.level == "error"}
            assert keys
            assert keys <= {*content, *required, *optional}
            event(f"refused by {', '.join(sorted(keys))}")
            return
        event("synthesised")
        assert findings(synthesise(file, Path(folder, "cdk.out")), cluster) == []
