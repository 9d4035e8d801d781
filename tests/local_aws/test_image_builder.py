"""Image Builder: what it refuses, what a build leaves in EC2 and SSM, and its resources through CloudFormation."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import botocore.exceptions
import pytest

from tests.local_aws.support import TRUST, Aws, Stack, att, ref, unique

if TYPE_CHECKING:
    from collections.abc import Callable

PARENT = "ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"
DATE = "{{ imagebuilder:buildDate }}"


def document(command: str = "true", *, phase: str = "build", action: str = "ExecuteBash") -> str:
    step = {"name": "run", "action": action, "inputs": {"commands": [command]}}
    return json.dumps({"schemaVersion": 1.0, "phases": [{"name": phase, "steps": [step]}]})


def component(aws: Aws, name: str, data: str) -> str:
    answer = aws.client("imagebuilder").create_component(
        name=name, semanticVersion="1.0.0", platform="Linux", data=data
    )
    return str(answer["componentBuildVersionArn"])


def refused(call: Callable[[], Any]) -> str:
    """The code and the message of the service's refusal."""
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call()
    error = caught.value.response["Error"]
    return f"{error['Code']}: {error['Message']}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("phases: [", "not valid YAML"),
        ("just text", "not a mapping"),
        (json.dumps({"schemaVersion": 1.0}), "no phases"),
        (json.dumps({"phases": [{"name": "build", "steps": []}]}), "schemaVersion"),
        (json.dumps({"schemaVersion": 1.0, "phases": [{"name": "build", "steps": []}]}), "has no steps"),
        (document(phase="install"), "the phase 'install' is none of build, validate, test"),
        (document(action="RunShell"), "unknown action 'RunShell'"),
        (document("x" * 16_000), "at most 16000 are allowed"),
    ],
)
def test_a_component_that_could_not_run_is_refused(aws: Aws, data: str, why: str) -> None:
    """Malformed documents, unknown phases and actions, and text beyond the limit do not wait for a build to fail."""
    message = refused(lambda: component(aws, unique("component"), data))
    assert message.startswith("InvalidParameterValueException: ")
    assert why in message


def test_a_version_of_a_component_means_one_content_and_builds_are_counted(aws: Aws) -> None:
    """The same content twice is refused; other content under the same version is a new build, as AWS documents."""
    name = unique("component")
    first = component(aws, name, document("one"))
    assert component(aws, name, document("two")) == f"{first.removesuffix('/1')}/2"
    assert "ResourceAlreadyExistsException" in refused(lambda: component(aws, name, document("two")))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"parentImage": "ssm:/no/such/parameter"}, "InvalidParameterValueException: parentImage"),
        ({"parentImage": "ami-00000000000000000"}, "InvalidParameterValueException: parentImage"),
        ({"components": [{"componentArn": "not-an-arn"}]}, "does not match"),
        (
            {"components": [{"componentArn": "arn:aws:imagebuilder:us-east-1:123456789012:component/none/1.0.0/1"}]},
            "ResourceNotFoundException",
        ),
        ({"semanticVersion": "one"}, "does not match"),
    ],
)
def test_a_recipe_of_what_is_not_there_is_refused(aws: Aws, changes: dict[str, Any], why: str) -> None:
    """Unknown parents and components, and ARNs and versions of the wrong form."""
    asked = {"name": unique("recipe"), "semanticVersion": "1.0.0", "parentImage": PARENT, **changes}
    assert why in refused(lambda: aws.client("imagebuilder").create_image_recipe(**asked))


def test_a_version_of_a_recipe_cannot_be_made_twice(aws: Aws) -> None:
    """Whoever changes a recipe must change its version: names differ by more than case and underscores."""
    builder, name = aws.client("imagebuilder"), unique("recipe")
    builder.create_image_recipe(name=name, semanticVersion="1.0.0", parentImage=PARENT)
    again = {"name": name.upper(), "semanticVersion": "1.0.0", "parentImage": PARENT, "description": "other"}
    assert "ResourceAlreadyExistsException" in refused(lambda: builder.create_image_recipe(**again))


def test_infrastructure_of_what_is_not_there_is_refused(aws: Aws) -> None:
    """An unknown instance profile, and a subnet without security groups."""
    builder, profile = aws.client("imagebuilder"), unique("profile")
    asked = {"name": unique("infrastructure"), "instanceProfileName": profile}
    assert "instanceProfileName" in refused(lambda: builder.create_infrastructure_configuration(**asked))
    aws.client("iam").create_instance_profile(InstanceProfileName=profile)
    subnet = aws.client("ec2").describe_subnets()["Subnets"][0]["SubnetId"]
    message = refused(lambda: builder.create_infrastructure_configuration(**asked, subnetId=subnet))
    assert "securityGroupIds must be given" in message


def test_a_distribution_that_names_all_its_images_alike_is_refused(aws: Aws) -> None:
    """EC2 takes an AMI's name once, so the build date must be in it."""
    distributions = [{"region": "us-east-1", "amiDistributionConfiguration": {"name": "nodes"}}]
    asked = {"name": unique("distribution"), "distributions": distributions}
    message = refused(lambda: aws.client("imagebuilder").create_distribution_configuration(**asked))
    assert "imagebuilder:buildDate" in message


def test_an_operation_that_nobody_models_is_named(aws: Aws) -> None:
    """As everywhere in the embedded AWS: no silence."""
    assert "ListComponents is not modelled" in refused(aws.client("imagebuilder").list_components)


def resources(name: str, *, command: str = "true", version: str = "1.0.0") -> dict[str, Any]:
    """The types of an image stack, as few properties as possible."""
    builder = "AWS::ImageBuilder::"
    made_by = {
        "ImageRecipeArn": att("Recipe", "Arn"),
        "InfrastructureConfigurationArn": att("Infrastructure", "Arn"),
        "DistributionConfigurationArn": att("Distribution", "Arn"),
    }
    return {
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": TRUST}},
        "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [ref("Role")]}},
        "Component": {
            "Type": f"{builder}Component",
            "Properties": {"Name": name, "Version": version, "Platform": "Linux", "Data": document(command)},
        },
        "Recipe": {
            "Type": f"{builder}ImageRecipe",
            "Properties": {
                "Name": name,
                "Version": version,
                "ParentImage": PARENT,
                "Components": [{"ComponentArn": att("Component", "Arn")}],
            },
        },
        "Infrastructure": {
            "Type": f"{builder}InfrastructureConfiguration",
            "Properties": {"Name": name, "InstanceProfileName": ref("Profile"), "Tags": {"team": "a"}},
        },
        "Distribution": {
            "Type": f"{builder}DistributionConfiguration",
            "Properties": {
                "Name": name,
                "Distributions": [
                    {
                        "Region": ref("AWS::Region"),
                        "AmiDistributionConfiguration": {"Name": f"{name} {DATE}", "AmiTags": {"team": "a"}},
                        "SsmParameterConfigurations": [{"ParameterName": f"/imagebuilder/{name}"}],
                    }
                ],
            },
        },
        "Pipeline": {"Type": f"{builder}ImagePipeline", "Properties": {"Name": name, **made_by}},
        "Policy": {
            "Type": f"{builder}LifecyclePolicy",
            "Properties": {
                "Name": name,
                "ExecutionRole": att("Role", "Arn"),
                "ResourceType": "AMI_IMAGE",
                "ResourceSelection": {"TagMap": {"team": "a"}},
                "PolicyDetails": [
                    {"Action": {"Type": "DELETE"}, "Filter": {"Type": "AGE", "Value": 6, "Unit": "MONTHS"}}
                ],
            },
        },
        "Image": {
            "Type": f"{builder}Image",
            "DeletionPolicy": "Delete",
            "UpdateReplacePolicy": "Retain",
            "Properties": {**made_by, "DeletionSettings": {"ExecutionRole": att("Role", "Arn")}},
        },
    }


OUTPUTS = {"Image": att("Image", "ImageId"), "Pipeline": ref("Pipeline"), "Recipe": ref("Recipe")}


def there(aws: Aws, image: str) -> bool:
    found = aws.client("ec2").describe_images(Filters=[{"Name": "image-id", "Values": [image]}])["Images"]
    return bool(found)


def parameter(aws: Aws, name: str) -> str:
    return str(aws.client("ssm").get_parameter(Name=f"/imagebuilder/{name}")["Parameter"]["Value"])


def test_a_stack_builds_an_image_that_ec2_and_ssm_know(aws: Aws, stack: Stack) -> None:
    """The image is a tagged AMI of the account, its id is in the parameter; with the stack the image goes."""
    name = unique("image")
    made = stack.create(resources(name), OUTPUTS)
    (image,) = aws.client("ec2").describe_images(ImageIds=[made["Image"]])["Images"]
    assert image["Name"].startswith(f"{name} 2")
    assert {(tag["Key"], tag["Value"]) for tag in image["Tags"]} == {("CreatedBy", "EC2 Image Builder"), ("team", "a")}
    assert parameter(aws, name) == made["Image"]
    stack.delete()
    assert not there(aws, made["Image"])


def test_a_changed_recipe_makes_another_image_and_keeps_the_first(aws: Aws, stack: Stack) -> None:
    """UpdateReplacePolicy decides on a replacement: nodes may boot the old image until they are told of the new one."""
    name = unique("image")
    first = stack.create(resources(name), OUTPUTS)
    second = stack.update(resources(name, command="false", version="1.0.1"), OUTPUTS)
    assert second["Image"] != first["Image"]
    assert parameter(aws, name) == second["Image"]
    assert there(aws, first["Image"])
    builder = aws.client("imagebuilder")
    assert "ResourceNotFound" in refused(lambda: builder.get_image_recipe(imageRecipeArn=first["Recipe"]))
    stack.delete()
    assert (there(aws, first["Image"]), there(aws, second["Image"])) == (True, False)


def test_changed_content_under_the_same_version_fails_the_stack(aws: Aws, stack: Stack) -> None:
    """A recipe cannot be changed, and a second one of its name and version cannot be made: the update rolls back."""
    name = unique("image")
    before = stack.create(resources(name), OUTPUTS)
    changed = copy.deepcopy(resources(name))
    changed["Recipe"]["Properties"]["Description"] = "other"
    with pytest.raises(AssertionError, match="ResourceAlreadyExistsException"):
        stack.update(changed, OUTPUTS)
    assert stack.outputs("UPDATE_ROLLBACK_COMPLETE") == before


def test_configurations_change_in_place(aws: Aws, stack: Stack) -> None:
    """Tags, host types and the AMI's tags change without a new image."""
    name = unique("image")
    before = stack.create(resources(name), OUTPUTS)
    changed = resources(name)
    changed["Infrastructure"]["Properties"] |= {"InstanceTypes": ["m6i.xlarge"], "Tags": {"owner": "b"}}
    distribution = changed["Distribution"]["Properties"]["Distributions"][0]
    distribution["AmiDistributionConfiguration"]["AmiTags"] = {"team": "b"}
    assert stack.update(changed, OUTPUTS) == before
    arn = before["Recipe"].replace("image-recipe", "infrastructure-configuration").removesuffix("/1.0.0")
    found = aws.client("imagebuilder").get_infrastructure_configuration(infrastructureConfigurationArn=arn)
    assert found["infrastructureConfiguration"]["instanceTypes"] == ["m6i.xlarge"]
    assert found["infrastructureConfiguration"]["tags"] == {"owner": "b"}


def test_a_pipeline_builds_again_and_moves_the_parameter(aws: Aws, stack: Stack) -> None:
    """What the schedule does on AWS can be done by hand here: a second image, and the parameter names it."""
    name = unique("image")
    made = stack.create(resources(name), OUTPUTS)
    builder = aws.client("imagebuilder")
    arn = builder.start_image_pipeline_execution(imagePipelineArn=made["Pipeline"])["imageBuildVersionArn"]
    image = builder.get_image(imageBuildVersionArn=arn)["image"]
    assert image["state"]["status"] == "AVAILABLE"
    (ami,) = image["outputResources"]["amis"]
    assert parameter(aws, name) == ami["image"] != made["Image"]


def test_what_a_pipeline_uses_cannot_be_deleted(aws: Aws, stack: Stack) -> None:
    """A recipe goes after its pipeline; images, which keep a copy of it, do not hold it."""
    made = stack.create(resources(unique("image")), OUTPUTS)
    builder = aws.client("imagebuilder")
    message = refused(lambda: builder.delete_image_recipe(imageRecipeArn=made["Recipe"]))
    assert "ResourceDependencyException" in message
    assert "image-pipeline" in message


def test_a_parameter_that_moved_is_a_change_for_a_change_set(aws: Aws, stack: Stack) -> None:
    """CloudFormation reads an SSM parameter anew for each change set; with its old value there is nothing to do."""
    name = f"/{unique('value')}"
    ssm, cloudformation = aws.client("ssm"), aws.client("cloudformation")
    ssm.put_parameter(Name=name, Value="one", Type="String")
    template: dict[str, Any] = {
        "Parameters": {"Value": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": name}},
        "Resources": {"Copy": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": ref("Value")}}},
        "Outputs": {"Copy": {"Value": att("Copy", "Value")}},
    }
    more = {"Parameters": template["Parameters"]}
    stack.create(template["Resources"], {"Copy": att("Copy", "Value")}, **more)

    def change_set() -> str:
        asked = {"StackName": stack.name, "ChangeSetName": unique("change"), "TemplateBody": body}
        made = cloudformation.create_change_set(**asked, ChangeSetType="UPDATE")["Id"]
        described = cloudformation.describe_change_set(ChangeSetName=made)
        if described["Status"] == "CREATE_COMPLETE":
            cloudformation.execute_change_set(ChangeSetName=made)
        return str(described["Status"])

    body = cloudformation.get_template(StackName=stack.name)["TemplateBody"]
    body = body if isinstance(body, str) else json.dumps(body)
    assert change_set() == "FAILED"
    ssm.put_parameter(Name=name, Value="two", Type="String", Overwrite=True)
    assert change_set() == "CREATE_COMPLETE"
    assert stack.outputs("UPDATE_COMPLETE") == {"Copy": "two"}
