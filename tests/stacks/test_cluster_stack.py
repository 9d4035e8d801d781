from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk.assertions import Match, Template

from mnp.cluster.contract import Contract, output_name
from tests.synth import only, stack_of

EXISTING = {"id": "vpc-0123456789abcdef0", "subnet": "subnet-0123456789abcdef0"}


@pytest.fixture(scope="module")
def p5() -> Template:
    return Template.from_stack(stack_of())


def template_of(**changes: Any) -> Template:
    return Template.from_stack(stack_of(**changes))


class TestSecurityGroup:
    @pytest.mark.parametrize(
        ("kind", "other"),
        [
            ("AWS::EC2::SecurityGroupIngress", "SourceSecurityGroupId"),
            ("AWS::EC2::SecurityGroupEgress", "DestinationSecurityGroupId"),
        ],
    )
    def test_the_group_is_open_to_itself_by_reference(self, p5: Template, kind: str, other: str) -> None:
        """EFA passes only where a rule names the group itself, in both directions; a range does not count."""
        rules = [each["Properties"] for each in p5.find_resources(kind).values()]
        to_itself = [rule for rule in rules if rule["GroupId"] == rule.get(other) and rule["IpProtocol"] == "-1"]
        assert len(to_itself) == 1

    def test_the_vpcs_default_group_is_joined_both_ways(self, p5: Template) -> None:
        """Should ECS give tasks the default group, they still reach the nodes and the nodes them."""
        default = {"Fn::ImportValue": Match.string_like_regexp("DefaultSecurityGroup")}
        for group, other in ((default, Match.any_value()), (Match.any_value(), default)):
            p5.has_resource_properties(
                "AWS::EC2::SecurityGroupIngress", {"GroupId": group, "SourceSecurityGroupId": other}
            )
            p5.has_resource_properties(
                "AWS::EC2::SecurityGroupEgress", {"GroupId": group, "DestinationSecurityGroupId": other}
            )

    def test_nothing_comes_in_from_any_address_by_default(self, p5: Template) -> None:
        """No port is open to an address range unless the file asks for it."""
        assert "SecurityGroupIngress" not in only(p5, "AWS::EC2::SecurityGroup")
        rules = p5.find_resources("AWS::EC2::SecurityGroupIngress").values()
        assert not any("CidrIp" in rule["Properties"] for rule in rules)

    def test_ssh_is_open_to_the_ranges_of_the_file_only(self) -> None:
        """A range in ssh_cidrs opens port 22 and no other."""
        (rule,) = only(template_of(ssh_cidrs=["10.1.0.0/16"]), "AWS::EC2::SecurityGroup")["SecurityGroupIngress"]
        assert (rule["CidrIp"], rule["FromPort"], rule["ToPort"]) == ("10.1.0.0/16", 22, 22)


class TestComputeEnvironment:
    def test_updates_reach_the_nodes_in_place(self, p5: Template) -> None:
        """The four things that Batch needs for an update in place stand together, and jobs are not killed by it."""
        environment = only(p5, "AWS::Batch::ComputeEnvironment")
        resources = environment["ComputeResources"]
        assert environment["ReplaceComputeEnvironment"] is False
        assert "ServiceRole" not in environment
        assert resources["AllocationStrategy"] == "BEST_FIT_PROGRESSIVE"
        assert resources["LaunchTemplate"]["Version"]["Fn::GetAtt"][1] == "LatestVersionNumber"
        assert environment["UpdatePolicy"] == {"TerminateJobsOnUpdate": False, "JobExecutionTimeoutMinutes": 24 * 60}

    def test_it_is_for_multi_node_jobs_and_costs_nothing_at_rest(self, p5: Template) -> None:
        """On demand, one type, one subnet, cluster placement, room for all nodes, and none kept."""
        resources = only(p5, "AWS::Batch::ComputeEnvironment")["ComputeResources"]
        assert (resources["Type"], resources["MinvCpus"], resources["MaxvCpus"]) == ("EC2", 0, 4 * 192)
        assert resources["InstanceTypes"] == ["p5.48xlarge"]
        assert len(resources["Subnets"]) == 1
        assert "DesiredvCpus" not in resources
        assert only(p5, "AWS::EC2::PlacementGroup")["Strategy"] == "cluster"
        assert resources["PlacementGroup"]["Fn::GetAtt"][1] == "GroupName"

    def test_it_names_no_security_groups(self, p5: Template) -> None:
        """Batch refuses groups of the environment beside a launch template with network interfaces."""
        assert "SecurityGroupIds" not in only(p5, "AWS::Batch::ComputeEnvironment")["ComputeResources"]

    def test_nodes_boot_batchs_own_gpu_image(self, p5: Template) -> None:
        """GPU driver and EFA kernel driver come with the image, so nothing is downloaded at boot."""
        resources = only(p5, "AWS::Batch::ComputeEnvironment")["ComputeResources"]
        assert resources["Ec2Configuration"] == [{"ImageType": "ECS_AL2023_NVIDIA"}]

    @pytest.mark.parametrize("ami", ["ami-0123456789abcdef0", {"parameter": "/team/images/gpu"}])
    def test_an_image_of_ones_own_takes_the_place_of_batchs(self, ami: Any) -> None:
        """A pinned id stands as it is; a parameter is resolved by CloudFormation, anew at every deploy."""
        template = template_of(ami=ami)
        (image,) = only(template, "AWS::Batch::ComputeEnvironment")["ComputeResources"]["Ec2Configuration"]
        if isinstance(ami, str):
            assert image["ImageIdOverride"] == ami
        else:
            parameter = template.to_json()["Parameters"][image["ImageIdOverride"]["Ref"]]
            assert parameter == {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": ami["parameter"]}

    def test_a_capacity_block_places_its_nodes_and_replaces_its_environment(self) -> None:
        """No placement group, the strategy that Batch asks for, and a new environment for a new block."""
        template = template_of(capacity={"capacity_block": "cr-0123456789abcdef0"})
        environment = only(template, "AWS::Batch::ComputeEnvironment")
        template.resource_count_is("AWS::EC2::PlacementGroup", 0)
        assert "PlacementGroup" not in environment["ComputeResources"]
        assert environment["ComputeResources"]["AllocationStrategy"] == "BEST_FIT"
        assert environment["ReplaceComputeEnvironment"] is True


@pytest.fixture(scope="module")
def trn1n() -> Template:
    return template_of(instance_type="trn1n.32xlarge", image="public.ecr.aws/neuron/pytorch-training-neuronx:1")


class TestTrainium:
    def test_nodes_boot_the_neuron_image_that_aws_keeps_for_ecs(self, trn1n: Template) -> None:
        """Batch knows no Neuron image by itself: the newest one's id is read from AWS's parameter at every deploy."""
        (image,) = only(trn1n, "AWS::Batch::ComputeEnvironment")["ComputeResources"]["Ec2Configuration"]
        assert image["ImageType"] == "ECS_AL2023"
        parameter = trn1n.to_json()["Parameters"][image["ImageIdOverride"]["Ref"]]
        assert parameter == {
            "Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
            "Default": "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/recommended/image_id",
        }

    def test_a_job_gets_its_devices_by_path_and_asks_for_no_gpu(self, trn1n: Template) -> None:
        """A GPU requirement would wait for ever; 16 EFA and 16 Trainium devices are mapped instead."""
        (node_range,) = only(trn1n, "AWS::Batch::JobDefinition")["NodeProperties"]["NodeRangeProperties"]
        container = node_range["Container"]
        assert {each["Type"] for each in container["ResourceRequirements"]} == {"VCPU", "MEMORY"}
        paths = [each["HostPath"] for each in container["LinuxParameters"]["Devices"]]
        assert paths == [f"/dev/{name}{index}" for name in ("infiniband/uverbs", "neuron") for index in range(16)]


class TestQueue:
    def test_nothing_waits_for_ever(self, p5: Template) -> None:
        """Every documented reason for a job to be stuck has a time after which the job is cancelled."""
        actions = only(p5, "AWS::Batch::JobQueue")["JobStateTimeLimitActions"]
        assert {each["Reason"]: each["MaxTimeSeconds"] for each in actions} == {
            "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY": 86400,
            "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE": 600,
            "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT": 600,
            "MISCONFIGURATION:SERVICE_ROLE_PERMISSIONS": 600,
        }
        assert {(each["Action"], each["State"]) for each in actions} == {("CANCEL", "RUNNABLE")}

    def test_people_find_it_under_the_clusters_name(self, p5: Template) -> None:
        """The queue is what users type, so its name is the cluster's."""
        assert only(p5, "AWS::Batch::JobQueue")["JobQueueName"] == "test"


class TestSmokeJobDefinition:
    @pytest.fixture
    def definition(self, p5: Template) -> dict[str, Any]:
        return only(p5, "AWS::Batch::JobDefinition")

    @pytest.fixture
    def container(self, definition: dict[str, Any]) -> dict[str, Any]:
        (node_range,) = definition["NodeProperties"]["NodeRangeProperties"]
        assert node_range["TargetNodes"] == "0:"
        found: dict[str, Any] = node_range["Container"]
        return found

    def test_any_number_of_nodes_may_be_asked_for(self, definition: dict[str, Any]) -> None:
        """One open range: numNodes at submit works with no other form."""
        assert definition["Type"] == "multinode"
        assert definition["NodeProperties"]["MainNode"] == 0

    def test_every_efa_device_is_mapped(self, container: dict[str, Any]) -> None:
        """The container sees all 32 devices of a p5 node, with the permissions that EFA asks for."""
        devices = container["LinuxParameters"]["Devices"]
        assert [each["HostPath"] for each in devices] == [f"/dev/infiniband/uverbs{index}" for index in range(32)]
        assert all(each["ContainerPath"] == each["HostPath"] for each in devices)
        assert all(each["Permissions"] == ["READ", "WRITE", "MKNOD"] for each in devices)

    def test_memory_may_be_locked_and_nothing_is_privileged(self, container: dict[str, Any]) -> None:
        """EFA needs locked memory, and with it no privilege."""
        limits = {each["Name"]: (each["SoftLimit"], each["HardLimit"]) for each in container["Ulimits"]}
        assert limits["memlock"] == (-1, -1)
        assert not container.get("Privileged")

    def test_scratch_is_mounted_where_the_nodes_have_it(self, container: dict[str, Any]) -> None:
        """With scratch in the file, the job finds the nodes' disks under the same path; without, nothing is mounted."""
        template = template_of(scratch=True)
        (node_range,) = only(template, "AWS::Batch::JobDefinition")["NodeProperties"]["NodeRangeProperties"]
        with_scratch = node_range["Container"]
        assert with_scratch["Volumes"] == [{"Name": "scratch", "Host": {"SourcePath": "/scratch"}}]
        assert with_scratch["MountPoints"][0]["ContainerPath"] == "/scratch"
        assert "Volumes" not in container

    def test_a_job_takes_the_whole_node(self, container: dict[str, Any]) -> None:
        """All GPUs and vCPUs, and memory below what ECS registers: more would wait for ever."""
        wanted = {each["Type"]: int(each["Value"]) for each in container["ResourceRequirements"]}
        assert (wanted["GPU"], wanted["VCPU"]) == (8, 192)
        assert 0.8 * 2097152 < wanted["MEMORY"] < 0.95 * 2097152

    def test_the_secret_is_injected_and_not_written_down(self, p5: Template, container: dict[str, Any]) -> None:
        """The template holds the secret's address; its value is made by AWS and seen by the job alone."""
        (secret,) = container["Secrets"]
        assert secret["Name"] == "MNP_SECRET"
        assert "Ref" in secret["ValueFrom"]
        assert "SecretString" not in only(p5, "AWS::SecretsManager::Secret")

    def test_only_a_lost_host_is_retried(self, definition: dict[str, Any]) -> None:
        """A job that fails by itself would fail again at a cluster's price; the last rule catches everything."""
        rules = definition["RetryStrategy"]["EvaluateOnExit"]
        assert rules == [{"Action": "RETRY", "OnStatusReason": "Host EC2*"}, {"Action": "EXIT", "OnReason": "*"}]

    def test_it_ends_by_itself(self, definition: dict[str, Any]) -> None:
        """A smoke test that hangs is stopped by Batch."""
        assert definition["Timeout"]["AttemptDurationSeconds"] == 1800

    def test_it_fits_into_what_batch_takes(self, definition: dict[str, Any]) -> None:
        """Batch refuses a job definition over 24 KiB; the program that fetches the code is inside it."""
        assert len(json.dumps(definition)) < 24 * 1024


class TestRoles:
    def test_the_job_reads_its_program_and_writes_under_its_prefix(self, p5: Template) -> None:
        """A job can change nothing but results: no other bucket, no other service."""
        statements = self._statements(p5, "JobRole")
        actions = sorted(action for each in statements for action in _listed(each["Action"]))
        assert actions == ["s3:GetObject", "s3:GetObject", "s3:PutObject"]
        assert all(each["Resource"] != "*" for each in statements)

    def test_tasks_of_other_accounts_cannot_borrow_the_roles(self, p5: Template) -> None:
        """The trust of job and execution role names this account."""
        for role in p5.find_resources("AWS::IAM::Role").values():
            (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            if statement["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}:
                assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}

    def test_a_submitter_may_pass_the_two_job_roles_to_tasks_only(self, p5: Template) -> None:
        """PassRole is bound to roles and service; without the condition it would hand out the roles to anything."""
        statements = only(p5, "AWS::IAM::ManagedPolicy")["PolicyDocument"]["Statement"]
        (passing,) = [each for each in statements if each["Action"] == "iam:PassRole"]
        assert len(passing["Resource"]) == 2
        assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}

    @staticmethod
    def _statements(template: Template, role: str) -> list[dict[str, Any]]:
        policies = template.find_resources("AWS::IAM::Policy")
        (found,) = [policy for name, policy in policies.items() if name.startswith(role)]
        statements: list[dict[str, Any]] = found["Properties"]["PolicyDocument"]["Statement"]
        return statements


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


class TestContract:
    def test_every_value_is_an_output(self, p5: Template) -> None:
        """A tool that reads stack outputs finds what one that reads the parameter finds."""
        fields = [(name,) for name in Contract.model_fields if name != "node"]
        assert {output_name(path) for path in fields} - p5.find_outputs("*").keys() == {"Scratch"}  # empty here
        assert p5.find_outputs("NodeEfaDevices")["NodeEfaDevices"]["Value"] == "32"

    def test_the_parameter_is_named_after_the_cluster_and_fits(self, p5: Template) -> None:
        """A standard SSM parameter holds 4 KB; the template's text, with its references, is longer than the value."""
        parameter = only(p5, "AWS::SSM::Parameter")
        assert parameter["Name"] == "/mnp/test"
        assert len(json.dumps(parameter["Value"])) < 4096

    def test_what_outlives_the_cluster_is_the_bucket_alone(self, p5: Template) -> None:
        """Results stay when the cluster goes; everything else goes with it."""
        resources: dict[str, Any] = p5.to_json()["Resources"]
        kept = {each["Type"] for each in resources.values() if each.get("DeletionPolicy") == "Retain"}
        assert kept == {"AWS::S3::Bucket"}


def test_an_existing_vpc_is_used_and_none_is_made() -> None:
    """The file's ids stand in the template; there is no network stack, and no default group to join unless given."""
    stack = stack_of(vpc=EXISTING)
    template = Template.from_stack(stack)
    assert [child.node.id for child in stack.node.root.node.children if child.node.id.startswith("mnp-")] == [
        "mnp-test"
    ]
    assert only(template, "AWS::EC2::SecurityGroup")["VpcId"] == EXISTING["id"]
    assert only(template, "AWS::Batch::ComputeEnvironment")["ComputeResources"]["Subnets"] == [EXISTING["subnet"]]
    template.resource_count_is("AWS::EC2::SecurityGroupEgress", 1)


def test_a_named_default_group_of_an_existing_vpc_is_joined() -> None:
    """With the id in the file, the same rules are made as in a VPC of our own."""
    template = template_of(vpc=EXISTING | {"default_security_group": "sg-0123456789abcdef0"})
    template.has_resource_properties("AWS::EC2::SecurityGroupIngress", {"GroupId": "sg-0123456789abcdef0"})


def test_a_new_tag_does_not_replace_what_jobs_run_on() -> None:
    """CloudFormation changes tags of these by replacement alone, so those of the file stay off them."""
    template = template_of(tags={"team": "ml"})
    assert only(template, "AWS::Batch::ComputeEnvironment")["Tags"] == {"mnp:cluster": "test"}
    assert only(template, "AWS::EC2::PlacementGroup")["Tags"] == [{"Key": "mnp:cluster", "Value": "test"}]


def test_leaving_a_block_makes_another_environment() -> None:
    """Batch updates no environment of a block: on the way back to demand another one takes its place."""
    block = template_of(capacity={"capacity_block": "cr-0123456789abcdef0"})
    ids = [set(each.find_resources("AWS::Batch::ComputeEnvironment")) for each in (block, template_of())]
    assert ids[0].isdisjoint(ids[1])


def test_tags_of_the_file_are_on_every_resource_that_takes_them() -> None:
    """A team's tags reach queue, environment and roles alike."""
    template = template_of(tags={"team": "ml"})
    assert only(template, "AWS::Batch::JobQueue")["Tags"] == {"mnp:cluster": "test", "team": "ml"}
    template.has_resource_properties("AWS::IAM::Role", {"Tags": Match.array_with([{"Key": "team", "Value": "ml"}])})
