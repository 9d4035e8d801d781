"""From the cluster file to the service APIs and back: deploy, verify, smoke test, update, destroy.

One deployment serves the whole module; the tests run in the order in which they stand.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnp.cluster.contract import Contract, output_name, variable_name
from mnp.local_aws.server import LocalAws
from tests.deployment.deployment import Deployment, copy_of_example
from tests.synth import ROOT

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("deployment")
    with LocalAws() as aws:
        deployment = Deployment(aws, folder, (copy_of_example("demo.yaml", folder),))
        deployment.cdk("bootstrap", "aws://123456789012/us-east-1")
        deployment.deploy()
        yield deployment


@pytest.fixture(scope="module")
def environment(demo: Deployment) -> dict[str, Any]:
    return compute_environment(demo)


def compute_environment(demo: Deployment) -> dict[str, Any]:
    """The compute environment behind the queue, as Batch describes it."""
    batch = demo.client("batch")
    (queue,) = batch.describe_job_queues(jobQueues=["demo"])["jobQueues"]
    (order,) = queue["computeEnvironmentOrder"]
    arns = [order["computeEnvironment"]]
    (found,) = batch.describe_compute_environments(computeEnvironments=arns)["computeEnvironments"]
    assert isinstance(found, dict)
    return found


def launch_template_versions(demo: Deployment, environment: dict[str, Any]) -> list[dict[str, Any]]:
    template = environment["computeResources"]["launchTemplate"]["launchTemplateId"]
    versions: list[dict[str, Any]] = demo.client("ec2").describe_launch_template_versions(LaunchTemplateId=template)[
        "LaunchTemplateVersions"
    ]
    return sorted(versions, key=lambda version: int(version["VersionNumber"]))


def test_the_environment_is_one_that_runs_multi_node_jobs_and_updates_in_place(environment: dict[str, Any]) -> None:
    """Batch itself says: no security groups of its own, BEST_FIT_PROGRESSIVE, min 0, valid and enabled."""
    resources = environment["computeResources"]
    assert (environment["state"], environment["status"]) == ("ENABLED", "VALID")
    assert not resources.get("securityGroupIds")
    assert resources["allocationStrategy"] == "BEST_FIT_PROGRESSIVE"
    assert (resources["minvCpus"], resources["maxvCpus"]) == (0, 4 * 32)


def test_nodes_are_placed_together(demo: Deployment, environment: dict[str, Any]) -> None:
    """The environment names a placement group, and EC2 has it, of strategy cluster."""
    name = environment["computeResources"]["placementGroup"]
    (group,) = demo.client("ec2").describe_placement_groups(GroupNames=[name])["PlacementGroups"]
    assert (group["Strategy"], group["State"]) == ("cluster", "available")


def test_the_launch_template_is_pinned_by_number_and_has_its_interfaces(
    demo: Deployment, environment: dict[str, Any]
) -> None:
    """The environment uses a version by its number, never $Latest or $Default, and EC2 has the EFA interface in it."""
    (version,) = launch_template_versions(demo, environment)
    assert environment["computeResources"]["launchTemplate"]["version"] == str(version["VersionNumber"])
    (interface,) = version["LaunchTemplateData"]["NetworkInterfaces"]
    assert (interface["NetworkCardIndex"], interface["DeviceIndex"], interface["InterfaceType"]) == (0, 0, "efa")
    assert interface["Groups"] == [demo.contract()["security_group_id"]]


@pytest.mark.parametrize("is_egress", [False, True], ids=["in", "out"])
def test_the_group_is_open_to_itself_in_both_directions(demo: Deployment, *, is_egress: bool) -> None:
    """EC2 has a rule for all traffic that names the group itself."""
    group = demo.contract()["security_group_id"]
    rules = demo.client("ec2").describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group]}])
    found = [
        rule
        for rule in rules["SecurityGroupRules"]
        if rule["IsEgress"] == is_egress
        and rule["IpProtocol"] == "-1"
        and rule.get("ReferencedGroupInfo", {}).get("GroupId") == group
    ]
    assert len(found) == 1


def test_the_job_definition_has_an_open_range_devices_and_limits(demo: Deployment) -> None:
    """Batch has one range `0:`, the EFA device with its permissions, and unlimited locked memory."""
    arn = demo.contract()["smoke_job_definition_arn"]
    (definition,) = demo.client("batch").describe_job_definitions(jobDefinitions=[arn])["jobDefinitions"]
    (node_range,) = definition["nodeProperties"]["nodeRangeProperties"]
    assert node_range["targetNodes"] == "0:"
    container = node_range["container"]
    assert container["linuxParameters"]["devices"] == [
        {
            "hostPath": "/dev/infiniband/uverbs0",
            "containerPath": "/dev/infiniband/uverbs0",
            "permissions": ["READ", "WRITE", "MKNOD"],
        }
    ]
    assert {"name": "memlock", "softLimit": -1, "hardLimit": -1} in container["ulimits"]


def test_verify_agrees_with_the_file(demo: Deployment) -> None:
    """`mnp verify` finds every fact of a fresh deployment as the file means it, and says so with exit code 0."""
    facts = json.loads(demo.mnp("verify", str(demo.files[0]), "--json").stdout)
    assert len(facts) > 30
    assert all(fact["holds"] for fact in facts)


def test_verify_names_what_somebody_changed_by_hand(demo: Deployment) -> None:
    """A removed rule of the security group is found, by name, with exit code 1, and nothing else is."""
    group = demo.contract()["security_group_id"]
    described = demo.client("ec2").describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"]
    (pair,) = [
        pair
        for permission in described
        for pair in permission["UserIdGroupPairs"]
        if permission["IpProtocol"] == "-1" and pair["GroupId"] == group
    ]
    rule = {"GroupId": group, "IpPermissions": [{"IpProtocol": "-1", "UserIdGroupPairs": [pair]}]}
    demo.client("ec2").revoke_security_group_ingress(**rule)
    result = demo.mnp("verify", str(demo.files[0]), "--json", check=False)
    demo.client("ec2").authorize_security_group_ingress(**rule)
    differing = [fact["fact"] for fact in json.loads(result.stdout) if not fact["holds"]]
    assert result.returncode == 1
    assert differing == ["all traffic from itself, by reference"]


def test_outputs_of_the_stack_are_the_contract(demo: Deployment) -> None:
    """Stack outputs, SSM parameter and `mnp outputs` tell the same, value by value."""
    contract = Contract.model_validate(demo.contract())
    outputs = demo.outputs("mnp-demo")
    assert outputs == {output_name(path): str(value) for path, value in contract.flat() if value != ""}
    assert contract.account == "123456789012"


def test_outputs_as_variables_survive_a_shell(demo: Deployment) -> None:
    """`eval "$(mnp outputs --format env)"` sets every value as it is."""
    lines = demo.mnp("outputs", "--cluster", "demo", "--format", "env").stdout.splitlines()
    variables = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    contract = Contract.model_validate(demo.contract())
    assert variables == {variable_name(path): str(value) for path, value in contract.flat()}


def test_the_smoke_test_runs_across_nodes_and_leaves_its_result(demo: Deployment) -> None:
    """An all-reduce over two nodes ends with right sums from both, a verdict, and the same result in the bucket."""
    options = ("--nodes", "2", "--max-bytes", "64K", "--json")
    result = json.loads(demo.mnp("smoke", "--cluster", "demo", *options).stdout)
    assert {rank["node"] for rank in result["ranks"]} == {0, 1}
    assert all(row["in_place"]["nwrong"] == 0 for row in result["results"])
    assert result["verdict"]["status"] == "NOT_GRADED"
    assert result["simulated"] is True
    objects = demo.client("s3").list_objects_v2(Bucket=demo.contract()["bucket"], Prefix="mnp/smoke/demo/")["Contents"]
    (key,) = [each["Key"] for each in objects]
    stored = demo.client("s3").get_object(Bucket=demo.contract()["bucket"], Key=key)["Body"].read()
    assert json.loads(stored) == result


def test_a_change_reaches_the_nodes_in_place(demo: Deployment, environment: dict[str, Any]) -> None:
    """Another volume size and more nodes: the same environment, with a new launch-template version and maximum."""
    demo.change(demo.files[0], root_volume_gib=400, max_nodes=6)
    demo.deploy()
    updated = compute_environment(demo)
    before, after = launch_template_versions(demo, updated)
    assert updated["computeEnvironmentArn"] == environment["computeEnvironmentArn"]
    assert updated["computeResources"]["launchTemplate"]["version"] == str(after["VersionNumber"])
    assert updated["computeResources"]["launchTemplate"]["version"] != str(before["VersionNumber"])
    assert updated["computeResources"]["maxvCpus"] == 6 * 32
    assert after["LaunchTemplateData"]["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] == 400
    assert demo.mnp("verify", str(demo.files[0])).returncode == 0


def test_destroy_leaves_the_results_and_nothing_else(demo: Deployment) -> None:
    """After `cdk destroy` only the bucket with the results is left, as the README says."""
    bucket = demo.contract()["bucket"]
    demo.cdk("destroy", "--all", "--force")
    assert [each["Name"] for each in demo.client("s3").list_buckets()["Buckets"] if "cdk-" not in each["Name"]] == [
        bucket
    ]
    batch, ec2 = demo.client("batch"), demo.client("ec2")
    assert batch.describe_compute_environments()["computeEnvironments"] == []
    assert batch.describe_job_queues()["jobQueues"] == []
    assert batch.describe_job_definitions(status="ACTIVE")["jobDefinitions"] == []
    assert ec2.describe_launch_templates()["LaunchTemplates"] == []
    assert ec2.describe_placement_groups()["PlacementGroups"] == []
    assert [vpc for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]] == []
    assert demo.client("ssm").get_parameters_by_path(Path="/mnp", Recursive=True)["Parameters"] == []
    assert demo.client("secretsmanager").list_secrets()["SecretList"] == []
    roles = [role["RoleName"] for role in demo.client("iam").list_roles()["Roles"]]
    assert [name for name in roles if name.startswith("mnp-")] == []


def test_a_tidy_folder_is_left(demo: Deployment) -> None:
    """Deploying writes into the output folder it is given, not into the repository."""
    assert (demo.folder / "cdk.out").is_dir()
    assert not Path(ROOT, "cdk.context.json").exists()
