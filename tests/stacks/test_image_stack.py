from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk.assertions import Template

from launch_templates.prebaked_image import component_document
from mnp.cluster.model import Cluster
from mnp.cluster.names import image_parameter_name
from stacks.clusters import add_cluster
from stacks.image_roles import BUILD_POLICIES
from tests.synth import P5, new_app, only, stack_of

PULLED = {"ami": {"prebaked": {"pull_image": True}}}
EXISTING = {"id": "vpc-0123456789abcdef0", "subnet": "subnet-0123456789abcdef0"}
PRIVATE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/train:1.2"


def template_of(**changes: Any) -> Template:
    app = new_app()
    add_cluster(app, Cluster.model_validate(P5 | {"ami": "prebaked"} | changes), account=None)
    return Template.from_stack(app.node.find_child("mnp-test-image"))  # type: ignore[arg-type] # a Stack, found by id


@pytest.fixture(scope="module")
def image() -> Template:
    return template_of()


def of(template: Template, kind: str) -> dict[str, Any]:
    return only(template, f"AWS::ImageBuilder::{kind}")


def test_the_stack_is_made_for_a_prebaked_image_alone() -> None:
    """Two stacks as ever with AWS's own image, a third for one of the cluster's own."""
    found = {ami: {each.node.id for each in _stacks(ami)} for ami in ("ecs", "prebaked")}
    assert found["prebaked"] - found["ecs"] == {"mnp-test-image"}


def test_the_image_is_there_before_the_cluster_reads_its_id() -> None:
    """CloudFormation makes the cluster's stack after the image's, and reads the parameter anew at every deploy."""
    stack = stack_of(ami="prebaked")
    assert [each.stack_name for each in stack.dependencies] == ["mnp-test-image"]
    template = Template.from_stack(stack)
    (configured,) = only(template, "AWS::Batch::ComputeEnvironment")["ComputeResources"]["Ec2Configuration"]
    assert configured["ImageType"] == "ECS_AL2023_NVIDIA"
    assert template.to_json()["Parameters"][configured["ImageIdOverride"]["Ref"]] == {
        "Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
        "Default": "/imagebuilder/mnp/test",
    }


def test_the_image_id_crosses_by_the_parameter_and_by_no_export(image: Template) -> None:
    """CloudFormation refuses to change an export in use, so a new image could never reach the cluster."""
    assert "Outputs" not in image.to_json()
    (distribution,) = of(image, "DistributionConfiguration")["Distributions"]
    (parameter,) = distribution["SsmParameterConfigurations"]
    assert parameter == {"ParameterName": image_parameter_name("test"), "DataType": "text"}


def test_the_parameter_is_one_that_image_builder_may_write() -> None:
    """Its service-linked role may write under this prefix only; no role of ours is needed."""
    assert image_parameter_name("test").startswith("/imagebuilder/")


def test_every_build_has_a_name_of_its_own(image: Template) -> None:
    """EC2 takes an AMI's name once."""
    (distribution,) = of(image, "DistributionConfiguration")["Distributions"]
    assert distribution["AmiDistributionConfiguration"]["Name"] == "mnp-test {{ imagebuilder:buildDate }}"


@pytest.mark.parametrize(
    "changes", [PULLED, {"root_volume_gib": 500}, {"instance_type": "trn1.32xlarge", "image": PRIVATE}]
)
def test_a_change_of_what_cannot_change_has_a_new_version(image: Template, changes: dict[str, Any]) -> None:
    """Component and recipe are immutable: other content under the same name and version would fail the deploy."""
    changed = template_of(**changes)
    before, after = of(image, "Component"), of(changed, "Component")
    assert (before["Version"] == after["Version"]) == (before["Data"] == after["Data"])
    assert of(image, "ImageRecipe")["Version"] != of(changed, "ImageRecipe")["Version"]


def test_what_does_not_concern_the_image_makes_no_new_one(image: Template) -> None:
    """More nodes, another tag or another container image that is not pulled: the same recipe, so no build."""
    changed = template_of(max_nodes=8, tags={"team": "a"}, image=PRIVATE)
    for kind in ("Component", "ImageRecipe"):
        assert of(image, kind)["Version"] == of(changed, kind)["Version"]


def test_the_component_is_the_one_of_the_cluster(image: Template) -> None:
    """What tests of launch_templates run is what Image Builder runs."""
    assert of(image, "Component")["Data"] == component_document(Cluster.model_validate(P5 | {"ami": "prebaked"}))


def test_the_build_host_is_closed_private_and_gone_after_the_build(image: Template) -> None:
    """Nothing comes in, metadata takes tokens only, the host stands in the nodes' subnet and is never left running."""
    infrastructure = of(image, "InfrastructureConfiguration")
    assert infrastructure["TerminateInstanceOnFailure"] is True
    assert infrastructure["InstanceMetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    assert "NodesSubnet" in infrastructure["SubnetId"]["Fn::ImportValue"]
    assert "SecurityGroupIngress" not in only(image, "AWS::EC2::SecurityGroup")
    image.resource_count_is("AWS::EC2::SecurityGroupIngress", 0)


def test_in_an_existing_vpc_the_build_stands_in_the_subnet_that_is_given() -> None:
    """Nothing is made or looked up in it but the host's security group."""
    template = template_of(vpc=EXISTING)
    assert of(template, "InfrastructureConfiguration")["SubnetId"] == EXISTING["subnet"]
    assert only(template, "AWS::EC2::SecurityGroup")["VpcId"] == EXISTING["id"]


def test_the_build_host_may_do_what_a_build_needs_and_no_more(image: Template) -> None:
    """AWS's two policies; nothing else where no private image is pulled."""
    (role,) = [each for each in _roles(image) if "ec2.amazonaws.com" in json.dumps(each)]
    assert [name for name in BUILD_POLICIES if name in json.dumps(role["ManagedPolicyArns"])] == [*BUILD_POLICIES]
    image.resource_count_is("AWS::IAM::Policy", 0)
    template_of(**PULLED).resource_count_is("AWS::IAM::Policy", 0)


def test_a_private_image_is_the_only_one_that_may_be_pulled() -> None:
    """Its repository, in its own account and region."""
    statements = only(template_of(**PULLED, image=PRIVATE), "AWS::IAM::Policy")["PolicyDocument"]["Statement"]
    pull, login = statements
    assert pull["Resource"] == "arn:aws:ecr:eu-west-1:123456789012:repository/team/train"
    assert login == {"Action": "ecr:GetAuthorizationToken", "Effect": "Allow", "Resource": "*"}


def test_a_newer_parent_image_is_baked_within_a_week(image: Template) -> None:
    """The pipeline looks once a week and builds only if there is something new; its images get the cluster's tag."""
    pipeline = of(image, "ImagePipeline")
    assert pipeline["Schedule"] == {
        "ScheduleExpression": "cron(0 6 ? * mon *)",
        "PipelineExecutionStartCondition": "EXPRESSION_MATCH_AND_DEPENDENCY_UPDATES_AVAILABLE",
    }
    assert pipeline["ImageTags"] == {"mnp:cluster": "test"}


def test_pipeline_and_deploy_make_the_same_image(image: Template) -> None:
    """Recipe, host and distribution are the same, so one parameter holds the newest of both."""
    made_by = ("ImageRecipeArn", "InfrastructureConfigurationArn", "DistributionConfigurationArn")
    built, pipeline = of(image, "Image"), of(image, "ImagePipeline")
    assert [built[name] for name in made_by] == [pipeline[name] for name in made_by]


def test_old_images_go_but_none_that_may_be_in_use(image: Template) -> None:
    """By age, never the last three, never one that was launched from within half a year; AMIs and snapshots too."""
    policy = of(image, "LifecyclePolicy")
    assert policy["ResourceSelection"] == {"TagMap": {"mnp:cluster": "test"}}
    assert of(image, "Image")["Tags"] == of(image, "ImagePipeline")["ImageTags"] == {"mnp:cluster": "test"}
    (detail,) = policy["PolicyDetails"]
    assert detail == {
        "Action": {"Type": "DELETE", "IncludeResources": {"Amis": True, "Snapshots": True}},
        "Filter": {"Type": "AGE", "Value": 6, "Unit": "MONTHS", "RetainAtLeast": 3},
        "ExclusionRules": {"Amis": {"LastLaunched": {"Value": 6, "Unit": "MONTHS"}}},
    }


def test_a_replaced_image_stays_and_a_deleted_one_goes(image: Template) -> None:
    """Nodes boot the old image until the cluster is deployed in its turn; with the stack its AMI goes as well."""
    (resource,) = image.find_resources("AWS::ImageBuilder::Image").values()
    assert (resource["UpdateReplacePolicy"], resource["DeletionPolicy"]) == ("Retain", "Delete")
    assert "ExecutionRole" in resource["Properties"]["DeletionSettings"]


def test_the_image_is_made_last(image: Template) -> None:
    """A failure of another resource cannot take back an image whose id is in the parameter already."""
    resources = image.to_json()["Resources"]
    (resource,) = image.find_resources("AWS::ImageBuilder::Image").values()
    kinds = {resources[each]["Type"] for each in resource["DependsOn"]}
    assert kinds == {"AWS::ImageBuilder::ImagePipeline", "AWS::ImageBuilder::LifecyclePolicy"}


def test_logs_of_builds_do_not_pile_up(image: Template) -> None:
    """In a group that Image Builder may write to, for a bounded time."""
    group = only(image, "AWS::Logs::LogGroup")
    assert group == {
        "LogGroupName": "/aws/imagebuilder/mnp-test-image",
        "RetentionInDays": 30,
        "Tags": [{"Key": "mnp:cluster", "Value": "test"}],
    }


def _stacks(ami: str) -> list[Stack]:
    return [each for each in stack_of(ami=ami).node.root.node.children if isinstance(each, Stack)]


def _roles(template: Template) -> list[dict[str, Any]]:
    return [each["Properties"] for each in template.find_resources("AWS::IAM::Role").values()]
