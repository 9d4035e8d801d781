"""The life of a stack: refusals, rollback, change sets, exports, deletion policies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import botocore.exceptions
import pytest

from tests.local_aws.support import Stack, att, ref, unique

if TYPE_CHECKING:
    from tests.local_aws.support import Aws

BUCKET = {"Type": "AWS::S3::Bucket"}


@pytest.mark.parametrize(
    "type_name",
    ["AWS::Quantum::Computer", "AWS::Lambda::Function", "Custom::Thing", "AWS::CloudFormation::CustomResource"],
)
def test_a_type_that_nobody_models_is_refused_by_name(aws: Aws, type_name: str) -> None:
    """CreateStack and CreateChangeSet name the type and the logical id, and nothing is made."""
    body = json.dumps({"Resources": {"Strange": {"Type": type_name}, "Bucket": BUCKET}})
    cloudformation, name = aws.client("cloudformation"), unique("stack")
    with pytest.raises(botocore.exceptions.ClientError, match=rf"Strange.*{type_name}"):
        cloudformation.create_stack(StackName=name, TemplateBody=body)
    with pytest.raises(botocore.exceptions.ClientError, match=rf"Strange.*{type_name}"):
        cloudformation.create_change_set(StackName=name, ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body)
    with pytest.raises(botocore.exceptions.ClientError, match="does not exist"):
        cloudformation.describe_stacks(StackName=name)


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"A": {**BUCKET, "DependsOn": "B"}, "B": {**BUCKET, "DependsOn": "A"}}, "Circular dependency"),
        ({"A": {**BUCKET, "Properties": {"BucketName": ref("Nobody")}}}, r"Nobody.*resource A"),
        ({}, "At least one Resources member"),
    ],
)
def test_templates_that_cannot_work_are_refused(aws: Aws, resources: dict[str, Any], message: str) -> None:
    """A cycle or a reference to nothing is a ValidationError before anything is made."""
    body = json.dumps({"Resources": resources})
    with pytest.raises(botocore.exceptions.ClientError, match=message):
        aws.client("cloudformation").create_stack(StackName=unique("stack"), TemplateBody=body)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (
            {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": att("Bucket", "Nothing")}},
            "does not support attribute type Nothing",
        ),
        (
            {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Vaule": ref("Bucket")}},
            "extraneous key [Vaule] is not permitted",
        ),
        (
            {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": "vpc-0", "CidrBlock": "10.0.0.0/24"},
             "DependsOn": "Bucket"},
            "InvalidVpcID.NotFound",
        ),
    ],
)  # fmt: skip
def test_a_failure_rolls_the_creation_back(aws: Aws, stack: Stack, broken: dict[str, Any], reason: str) -> None:
    """The stack ends in ROLLBACK_COMPLETE, its events say why, and what was made is gone."""
    name = unique("bucket")
    bucket = {**BUCKET, "Properties": {"BucketName": name}}
    with pytest.raises(AssertionError):
        stack.create({"Bucket": bucket, "Broken": broken})
    assert stack.describe()["StackStatus"] == "ROLLBACK_COMPLETE"
    assert any(reason in text for text in stack.reasons())
    assert name not in [entry["Name"] for entry in aws.client("s3").list_buckets()["Buckets"]]


def test_a_failed_update_restores_what_was_deployed(aws: Aws, stack: Stack) -> None:
    """The old values are back, what was added is gone, and the stack can be updated again."""
    name, added = unique("parameter"), unique("bucket")
    parameter: dict[str, Any] = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Name": name, "Type": "String", "Value": "old"},
    }
    stack.create({"Parameter": parameter})
    changed = {**parameter, "Properties": {**parameter["Properties"], "Value": "new"}}
    bucket = {**BUCKET, "Properties": {"BucketName": added}}
    broken = {"Type": "AWS::EC2::Subnet", "DependsOn": ["Parameter", "Bucket"],
              "Properties": {"VpcId": "vpc-0", "CidrBlock": "10.0.0.0/24"}}  # fmt: skip
    with pytest.raises(AssertionError):
        stack.update({"Parameter": changed, "Bucket": bucket, "Broken": broken})
    assert stack.describe()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == "old"
    assert added not in [entry["Name"] for entry in aws.client("s3").list_buckets()["Buckets"]]
    stack.update({"Parameter": changed})
    assert aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == "new"


def test_change_sets_as_the_cdk_uses_them(aws: Aws) -> None:
    """Create, describe, execute; again with a change, again without, which FAILs with AWS's reason."""
    cloudformation, name = aws.client("cloudformation"), unique("stack")

    parameter = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": ref("Value")}}

    def change_set(kind: str, value: str) -> dict[str, Any]:
        body = {
            "Parameters": {"Value": {"Type": "String"}},
            "Resources": {"P": parameter},
            "Outputs": {"Value": {"Value": att("P", "Value")}},
        }  # fmt: skip
        made = cloudformation.create_change_set(
            StackName=name,
            ChangeSetName=unique("change"),
            ChangeSetType=kind,
            TemplateBody=json.dumps(body),
            Parameters=[{"ParameterKey": "Value", "ParameterValue": value}],
        )
        described: dict[str, Any] = cloudformation.describe_change_set(ChangeSetName=made["Id"], StackName=name)
        return described

    first = change_set("CREATE", "one")
    assert (first["Status"], first["Changes"][0]["ResourceChange"]["Action"]) == ("CREATE_COMPLETE", "Add")
    assert cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == "REVIEW_IN_PROGRESS"
    cloudformation.execute_change_set(ChangeSetName=first["ChangeSetId"], StackName=name)
    assert cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
    second = change_set("UPDATE", "two")
    cloudformation.execute_change_set(ChangeSetName=second["ChangeSetId"], StackName=name)
    (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    assert stack["StackStatus"] == "UPDATE_COMPLETE"
    assert stack["Outputs"][0]["OutputValue"] == "two"
    assert stack["Parameters"] == [{"ParameterKey": "Value", "ParameterValue": "two"}]
    unchanged = change_set("UPDATE", "two")
    assert unchanged["Status"] == "FAILED"
    assert "didn't contain changes" in unchanged["StatusReason"]
    cloudformation.delete_change_set(ChangeSetName=unchanged["ChangeSetId"])
    with pytest.raises(botocore.exceptions.ClientError, match="ChangeSetNotFound"):
        cloudformation.describe_change_set(ChangeSetName=unchanged["ChangeSetName"], StackName=name)


def test_exports_reach_other_stacks(aws: Aws, stack: Stack) -> None:
    """Fn::ImportValue gives another stack's output; without it the stack fails by the export's name."""
    export = unique("export")
    importing = {
        "P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::ImportValue": export}}}
    }
    other = Stack(aws)
    with pytest.raises(AssertionError, match=export):
        other.create(importing)
    stack.create({"Bucket": BUCKET})
    body = {"Resources": {"Bucket": BUCKET}, "Outputs": {
        "Name": {"Value": ref("Bucket"), "Export": {"Name": export}}}}  # fmt: skip
    aws.client("cloudformation").update_stack(StackName=stack.name, TemplateBody=json.dumps(body))
    bucket = stack.outputs("UPDATE_COMPLETE")["Name"]
    assert Stack(aws).create(importing, {"Value": att("P", "Value")})["Value"] == bucket


def test_retained_resources_outlive_their_stack(aws: Aws, stack: Stack) -> None:
    """DeletionPolicy Retain keeps the one, and the rest is deleted."""
    names = {"Kept": unique("kept"), "Dropped": unique("dropped")}
    resources: dict[str, Any] = {key: {**BUCKET, "Properties": {"BucketName": name}} for key, name in names.items()}
    resources["Kept"]["DeletionPolicy"] = "Retain"
    stack.create(resources)
    stack.delete()
    left = [entry["Name"] for entry in aws.client("s3").list_buckets()["Buckets"]]
    assert names["Kept"] in left
    assert names["Dropped"] not in left


def test_a_bucket_with_objects_is_not_deleted(aws: Aws, stack: Stack) -> None:
    """The stack ends in DELETE_FAILED and says why, and can be deleted once the bucket is empty."""
    bucket = stack.create({"Bucket": BUCKET}, {"Bucket": ref("Bucket")})["Bucket"]
    s3 = aws.client("s3")
    s3.put_object(Bucket=bucket, Key="key", Body=b"data")
    with pytest.raises(AssertionError, match="BucketNotEmpty"):
        stack.delete()
    assert stack.describe()["StackStatus"] == "DELETE_FAILED"
    s3.delete_object(Bucket=bucket, Key="key")
    stack.delete()


def test_intrinsic_functions_resolve(aws: Aws, stack: Stack) -> None:
    """What the CDK writes, and what people write by hand, gives AWS's values."""
    expressions: dict[str, Any] = {
        "Sub": {"Fn::Sub": "arn:${AWS::Partition}:${AWS::Region}:${AWS::AccountId}:${!Literal}:${Bucket}"},
        "SubNames": {"Fn::Sub": ["${X}-${Bucket.Arn}", {"X": {"Fn::Join": ["+", ["a", "b"]]}}]},
        "Split": {"Fn::Select": [1, {"Fn::Split": ["|", "a|b|c"]}]},
        "If": {"Fn::If": ["IsEast", "east", "west"]},
        "Map": {"Fn::FindInMap": ["Sizes", ref("AWS::Region"), "big"]},
        "Cidr": {"Fn::Select": [2, {"Fn::Cidr": ["10.0.0.0/16", 4, 8]}]},
        "Base64": {"Fn::Base64": "hello"},
        "Suffix": ref("AWS::URLSuffix"),
        "Json": {"Fn::ToJsonString": {"a": ref("AWS::Region")}},
    }
    values = stack.create(
        {"Bucket": BUCKET, "Never": {**BUCKET, "Condition": "IsWest"}},
        {**expressions, "Bucket": ref("Bucket")},
        Conditions={
            "IsEast": {"Fn::Equals": [ref("AWS::Region"), "us-east-1"]},
            "IsWest": {"Fn::Not": [{"Condition": "IsEast"}]},
        },
        Mappings={"Sizes": {"us-east-1": {"big": "1024"}}},
    )
    bucket = values.pop("Bucket")
    assert values == {
        "Sub": f"arn:aws:us-east-1:123456789012:${{Literal}}:{bucket}",
        "SubNames": f"a+b-arn:aws:s3:::{bucket}",
        "Split": "b",
        "If": "east",
        "Map": "1024",
        "Cidr": "10.0.2.0/24",
        "Base64": "aGVsbG8=",
        "Suffix": "amazonaws.com",
        "Json": '{"a": "us-east-1"}',
    }
    assert len(aws.client("cloudformation").list_stack_resources(StackName=stack.name)["StackResourceSummaries"]) == 1


def test_ssm_parameters_and_dynamic_references(aws: Aws, stack: Stack) -> None:
    """Parameters of an SSM type and {{resolve:...}} give the stored values; a missing one is an error."""
    name, secret = unique("parameter"), unique("secret")
    aws.client("ssm").put_parameter(Name=name, Value="ami-1", Type="String")
    aws.client("secretsmanager").create_secret(Name=secret, SecretString='{"k": "v"}')
    kind = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    values = stack.create(
        {"Bucket": BUCKET},
        {"Image": ref("Image"), "Secret": f"{{{{resolve:secretsmanager:{secret}:SecretString:k}}}}"},
        Parameters={"Image": {"Type": kind, "Default": name}},
    )
    assert values == {"Image": "ami-1", "Secret": "v"}
    other = Stack(aws)
    with pytest.raises(AssertionError, match="no-such-parameter"):
        other.create({"Bucket": BUCKET}, Parameters={"Image": {"Type": kind, "Default": "no-such-parameter"}})
