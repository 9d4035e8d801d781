"""Each resource type through CloudFormation: created, described by the service, updated in place, deleted."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import botocore.exceptions
import pytest

from tests.local_aws.support import TRUST, Aws, Stack, att, ref, unique

if TYPE_CHECKING:
    from collections.abc import Callable

NETWORK: dict[str, Any] = {
    "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": True}},
    "Subnet": {
        "Type": "AWS::EC2::Subnet",
        "Properties": {
            "VpcId": ref("Vpc"),
            "CidrBlock": "10.0.0.0/24",
            "AvailabilityZone": {"Fn::Select": [0, {"Fn::GetAZs": ""}]},
            "Tags": [{"Key": "Name", "Value": "nodes"}],
        },
    },
    "Group": {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {"GroupDescription": "nodes", "VpcId": ref("Vpc")},
    },
}


def gone(call: Callable[[], Any]) -> bool:
    """Whether the service says that the thing does not exist."""
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call()
    code = caught.value.response["Error"]["Code"]
    return any(word in code for word in ("NotFound", "NoSuch", "404", "Unknown"))


def test_vpc_with_routes_nat_endpoints_and_flow_log(aws: Aws, stack: Stack) -> None:
    """A network as the CDK writes it comes up, can change, and leaves nothing."""
    ec2 = aws.client("ec2")
    before = {vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]}
    resources = copy.deepcopy(NETWORK) | {
        "Gateway": {"Type": "AWS::EC2::InternetGateway"},
        "Attachment": {
            "Type": "AWS::EC2::VPCGatewayAttachment",
            "Properties": {"VpcId": ref("Vpc"), "InternetGatewayId": ref("Gateway")},
        },
        "Table": {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": ref("Vpc")}},
        "Association": {
            "Type": "AWS::EC2::SubnetRouteTableAssociation",
            "Properties": {"RouteTableId": ref("Table"), "SubnetId": ref("Subnet")},
        },
        "Route": {
            "Type": "AWS::EC2::Route",
            "DependsOn": ["Attachment"],
            "Properties": {
                "RouteTableId": ref("Table"),
                "DestinationCidrBlock": "0.0.0.0/0",
                "GatewayId": ref("Gateway"),
            },
        },
        "Address": {"Type": "AWS::EC2::EIP", "Properties": {"Domain": "vpc"}},
        "Nat": {
            "Type": "AWS::EC2::NatGateway",
            "Properties": {"AllocationId": att("Address", "AllocationId"), "SubnetId": ref("Subnet")},
        },
        "S3": {
            "Type": "AWS::EC2::VPCEndpoint",
            "Properties": {
                "ServiceName": {"Fn::Sub": "com.amazonaws.${AWS::Region}.s3"},
                "VpcId": ref("Vpc"),
                "VpcEndpointType": "Gateway",
                "RouteTableIds": [ref("Table")],
            },
        },
        "Ecr": {
            "Type": "AWS::EC2::VPCEndpoint",
            "Properties": {
                "ServiceName": {"Fn::Join": ["", ["com.amazonaws.", ref("AWS::Region"), ".ecr.api"]]},
                "VpcId": ref("Vpc"),
                "VpcEndpointType": "Interface",
                "PrivateDnsEnabled": True,
                "SubnetIds": [ref("Subnet")],
                "SecurityGroupIds": [att("Group", "GroupId")],
            },
        },
        "Logs": {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": 7}},
        "FlowRole": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": TRUST}},
        "FlowLog": {
            "Type": "AWS::EC2::FlowLog",
            "Properties": {
                "ResourceId": ref("Vpc"),
                "ResourceType": "VPC",
                "TrafficType": "ALL",
                "LogDestinationType": "cloud-watch-logs",
                "LogGroupName": ref("Logs"),
                "DeliverLogsPermissionArn": att("FlowRole", "Arn"),
            },
        },
    }
    outputs = {
        "Vpc": ref("Vpc"),
        "DefaultGroup": att("Vpc", "DefaultSecurityGroup"),
        "Zone": att("Subnet", "AvailabilityZone"),
        "Subnet": ref("Subnet"),
        "Address": ref("Address"),
    }
    made = stack.create(resources, outputs)
    assert made["Zone"] == "us-east-1a"
    hostnames = ec2.describe_vpc_attribute(VpcId=made["Vpc"], Attribute="enableDnsHostnames")
    assert hostnames["EnableDnsHostnames"]["Value"] is True
    (route_table,) = ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [made["Subnet"]]}])[
        "RouteTables"
    ]
    assert any(route.get("GatewayId", "").startswith("igw-") for route in route_table["Routes"])
    endpoints = ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [made["Vpc"]]}])["VpcEndpoints"]
    assert {endpoint["VpcEndpointType"] for endpoint in endpoints} == {"Gateway", "Interface"}
    resources["Route"]["Properties"] |= {"NatGatewayId": ref("Nat")}
    del resources["Route"]["Properties"]["GatewayId"]
    resources["Subnet"]["Properties"] |= {"MapPublicIpOnLaunch": True, "Tags": [{"Key": "Name", "Value": "other"}]}
    changed = stack.update(resources, outputs)
    assert changed == made
    (subnet,) = ec2.describe_subnets(SubnetIds=[made["Subnet"]])["Subnets"]
    assert (subnet["MapPublicIpOnLaunch"], subnet["Tags"]) == (True, [{"Key": "Name", "Value": "other"}])
    stack.delete()
    assert {vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]} == before
    assert made["Address"] not in str(ec2.describe_addresses()["Addresses"])
    assert ec2.describe_flow_logs()["FlowLogs"] == []


def rules_of(aws: Aws, group: str) -> set[tuple[bool, str]]:
    answer = aws.client("ec2").describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group]}])
    return {
        (rule["IsEgress"], rule.get("ReferencedGroupInfo", {}).get("GroupId") or rule["CidrIpv4"])
        for rule in answer["SecurityGroupRules"]
    }


def test_security_group_rules_by_reference_both_ways(aws: Aws, stack: Stack) -> None:
    """Rules that refer to the group itself stand in both directions, inline ones change in place."""
    resources = copy.deepcopy(NETWORK)
    resources["Group"]["Properties"]["SecurityGroupIngress"] = [
        {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "10.1.0.0/16", "Description": "ssh"}
    ]
    for direction, other in (("Ingress", "Source"), ("Egress", "Destination")):
        resources[direction] = {
            "Type": f"AWS::EC2::SecurityGroup{direction}",
            "Properties": {
                "GroupId": att("Group", "GroupId"),
                "IpProtocol": "-1",
                f"{other}SecurityGroupId": att("Group", "GroupId"),
            },
        }
    group = stack.create(resources, {"Group": ref("Group")})["Group"]
    everywhere, itself = (True, "0.0.0.0/0"), {(False, group), (True, group)}
    assert rules_of(aws, group) == {everywhere, *itself, (False, "10.1.0.0/16")}
    resources["Group"]["Properties"]["SecurityGroupIngress"][0]["CidrIp"] = "10.2.0.0/16"
    resources["Group"]["Properties"]["SecurityGroupEgress"] = [{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}]
    del resources["Egress"]
    assert stack.update(resources, {"Group": ref("Group")}) == {"Group": group}
    assert rules_of(aws, group) == {(True, "10.0.0.0/8"), (False, group), (False, "10.2.0.0/16")}
    stack.delete()
    assert gone(lambda: aws.client("ec2").describe_security_groups(GroupIds=[group]))


def batch_resources() -> dict[str, Any]:
    return copy.deepcopy(NETWORK) | {
        "Placement": {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": "cluster"}},
        "Template": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {
                "LaunchTemplateData": {
                    "NetworkInterfaces": [
                        {
                            "DeviceIndex": 0,
                            "NetworkCardIndex": card,
                            "InterfaceType": "efa" if card == 0 else "efa-only",
                            "Groups": [att("Group", "GroupId")],
                        }
                        for card in range(4)
                    ],
                    "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
                }
            },
        },
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": TRUST}},
        "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [ref("Role")]}},
        "Environment": {
            "Type": "AWS::Batch::ComputeEnvironment",
            "Properties": {
                "Type": "MANAGED",
                "ReplaceComputeEnvironment": False,
                "UpdatePolicy": {"TerminateJobsOnUpdate": False, "JobExecutionTimeoutMinutes": 1440},
                "ComputeResources": {
                    "Type": "EC2",
                    "AllocationStrategy": "BEST_FIT_PROGRESSIVE",
                    "MinvCpus": 0,
                    "MaxvCpus": 192,
                    "InstanceTypes": ["p4d.24xlarge"],
                    "Subnets": [ref("Subnet")],
                    "InstanceRole": att("Profile", "Arn"),
                    "PlacementGroup": ref("Placement"),
                    "LaunchTemplate": {
                        "LaunchTemplateId": ref("Template"),
                        "Version": att("Template", "LatestVersionNumber"),
                    },
                    "Tags": {"Name": "node"},
                },
            },
        },
        "Queue": {
            "Type": "AWS::Batch::JobQueue",
            "Properties": {
                "Priority": 1,
                "ComputeEnvironmentOrder": [{"Order": 1, "ComputeEnvironment": ref("Environment")}],
            },
        },
        "Definition": {
            "Type": "AWS::Batch::JobDefinition",
            "Properties": {
                "Type": "multinode",
                "Timeout": {"AttemptDurationSeconds": 600},
                "NodeProperties": {
                    "NumNodes": 2,
                    "MainNode": 0,
                    "NodeRangeProperties": [
                        {
                            "TargetNodes": "0:",
                            "Container": {
                                "Image": "image",
                                "Command": ["true"],
                                "LinuxParameters": {"SharedMemorySize": 1024},
                                "ResourceRequirements": [
                                    {"Type": "VCPU", "Value": "96"},
                                    {"Type": "MEMORY", "Value": "1024"},
                                ],
                            },
                        }
                    ],
                },
            },
        },
    }


BATCH_OUTPUTS = {
    "Placement": ref("Placement"),
    "Template": ref("Template"),
    "Version": att("Template", "LatestVersionNumber"),
    "Environment": att("Environment", "ComputeEnvironmentArn"),
    "Queue": ref("Queue"),
    "Definition": ref("Definition"),
}


def test_batch_stack_updates_in_place(aws: Aws, stack: Stack) -> None:
    """New template data is a new version, which reaches the same environment; a definition gets a revision."""
    resources = batch_resources()
    made = stack.create(resources, BATCH_OUTPUTS)
    assert (made["Version"], made["Definition"].rsplit(":", 1)[1]) == ("1", "1")
    (placement,) = aws.client("ec2").describe_placement_groups(GroupNames=[made["Placement"]])["PlacementGroups"]
    assert (placement["Strategy"], placement["State"]) == ("cluster", "available")
    template = resources["Template"]["Properties"]["LaunchTemplateData"]
    template["MetadataOptions"]["HttpPutResponseHopLimit"] = 2
    resources["Environment"]["Properties"]["ComputeResources"]["MaxvCpus"] = 384
    resources["Definition"]["Properties"]["Timeout"]["AttemptDurationSeconds"] = 900
    changed = stack.update(resources, BATCH_OUTPUTS)
    kept = ("Environment", "Queue", "Template", "Placement")
    assert [changed[name] for name in kept] == [made[name] for name in kept]
    assert (changed["Version"], changed["Definition"].rsplit(":", 1)[1]) == ("2", "2")
    batch = aws.client("batch")
    (environment,) = batch.describe_compute_environments(computeEnvironments=[made["Environment"]])[
        "computeEnvironments"
    ]
    assert environment["computeResources"]["launchTemplate"]["version"] == "2"
    assert environment["computeResources"]["maxvCpus"] == 384
    assert environment["updatePolicy"]["jobExecutionTimeoutMinutes"] == 1440
    versions = aws.client("ec2").describe_launch_template_versions(
        LaunchTemplateId=made["Template"], Versions=["$Latest"]
    )["LaunchTemplateVersions"]
    interfaces = versions[0]["LaunchTemplateData"]["NetworkInterfaces"]
    assert [(i["NetworkCardIndex"], i["InterfaceType"]) for i in interfaces] == [
        (0, "efa"), (1, "efa-only"), (2, "efa-only"), (3, "efa-only"),
    ]  # fmt: skip
    definitions = batch.describe_job_definitions(
        jobDefinitionName=made["Definition"].rsplit("/", 1)[1].rsplit(":", 1)[0]
    )["jobDefinitions"]
    assert [(d["revision"], d["status"]) for d in definitions] == [(2, "ACTIVE"), (1, "INACTIVE")]
    stack.delete()
    assert not batch.describe_job_queues(jobQueues=[made["Queue"]])["jobQueues"]
    assert not batch.describe_compute_environments(computeEnvironments=[made["Environment"]])["computeEnvironments"]
    assert gone(lambda: aws.client("ec2").describe_placement_groups(GroupNames=[made["Placement"]]))


def test_an_environment_is_replaced_when_asked_to(aws: Aws, stack: Stack) -> None:
    """ReplaceComputeEnvironment (its default) makes a new environment, moves the queue and deletes the old one."""
    resources = batch_resources()
    del resources["Environment"]["Properties"]["ReplaceComputeEnvironment"]
    made = stack.create(resources, BATCH_OUTPUTS)
    resources["Environment"]["Properties"]["ComputeResources"]["Tags"] = {"Name": "other"}
    changed = stack.update(resources, BATCH_OUTPUTS)
    assert changed["Environment"] != made["Environment"]
    assert changed["Queue"] == made["Queue"]
    batch = aws.client("batch")
    (queue,) = batch.describe_job_queues(jobQueues=[made["Queue"]])["jobQueues"]
    assert queue["computeEnvironmentOrder"][0]["computeEnvironment"] == changed["Environment"]
    assert not batch.describe_compute_environments(computeEnvironments=[made["Environment"]])["computeEnvironments"]


def test_iam_roles_and_policies(aws: Aws, stack: Stack) -> None:
    """Inline, attached and managed policies follow the template; deletion detaches them first."""
    allow = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": {"Fn::Sub": "arn:${AWS::Partition}:s3:::x/*"},
                "Condition": {"StringEquals": {"aws:RequestedRegion": ref("AWS::Region")}},
            }
        ],
    }
    core = {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"}
    resources: dict[str, Any] = {
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": TRUST,
                "ManagedPolicyArns": [core],
                "Policies": [{"PolicyName": "inline", "PolicyDocument": allow}],
            },
        },
        "Policy": {
            "Type": "AWS::IAM::Policy",
            "Properties": {"PolicyName": "default", "PolicyDocument": allow, "Roles": [ref("Role")]},
        },
        "Managed": {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {"PolicyDocument": allow, "Roles": [ref("Role")]},
        },
        "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [ref("Role")]}},
    }
    outputs = {"Role": ref("Role"), "Arn": att("Role", "Arn"), "Managed": ref("Managed"), "Profile": ref("Profile")}
    made = stack.create(resources, outputs)
    iam, role = aws.client("iam"), made["Role"]
    assert made["Arn"] == f"arn:aws:iam::123456789012:role/{role}"
    assert set(iam.list_role_policies(RoleName=role)["PolicyNames"]) == {"inline", "default"}
    document = iam.get_role_policy(RoleName=role, PolicyName="default")["PolicyDocument"]
    assert document["Statement"][0]["Condition"] == {"StringEquals": {"aws:RequestedRegion": "us-east-1"}}
    assert len(iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]) == 2
    deny = json.loads(json.dumps(allow).replace("Allow", "Deny"))
    resources["Policy"]["Properties"]["PolicyDocument"] = deny
    resources["Managed"]["Properties"]["PolicyDocument"] = deny
    resources["Role"]["Properties"] = {"AssumeRolePolicyDocument": TRUST}
    assert stack.update(resources, outputs) == made
    document = iam.get_role_policy(RoleName=role, PolicyName="default")["PolicyDocument"]
    assert document["Statement"][0]["Effect"] == "Deny"
    assert iam.list_role_policies(RoleName=role)["PolicyNames"] == ["default"]
    (attached,) = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    assert attached["PolicyArn"] == made["Managed"]
    stack.delete()
    assert gone(lambda: iam.get_role(RoleName=role))
    assert gone(lambda: iam.get_policy(PolicyArn=made["Managed"]))
    assert gone(lambda: iam.get_instance_profile(InstanceProfileName=made["Profile"]))


def test_bucket_with_policy(aws: Aws, stack: Stack) -> None:
    """A bucket's settings and policy follow the template in place."""
    resources: dict[str, Any] = {
        "Bucket": {
            "Type": "AWS::S3::Bucket",
            "Properties": {
                "BucketEncryption": {
                    "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
                },
                "PublicAccessBlockConfiguration": {
                    "BlockPublicAcls": True,
                    "BlockPublicPolicy": True,
                    "IgnorePublicAcls": True,
                    "RestrictPublicBuckets": True,
                },
                "VersioningConfiguration": {"Status": "Enabled"},
                "LifecycleConfiguration": {
                    "Rules": [{"Id": "old", "Status": "Enabled", "ExpirationInDays": 30, "Prefix": "smoke/"}]
                },
            },
        },
        "Policy": {
            "Type": "AWS::S3::BucketPolicy",
            "Properties": {
                "Bucket": ref("Bucket"),
                "PolicyDocument": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Deny",
                            "Principal": "*",
                            "Action": "s3:*",
                            "Resource": [att("Bucket", "Arn"), {"Fn::Join": ["", [att("Bucket", "Arn"), "/*"]]}],
                            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                        }
                    ],
                },
            },
        },
    }
    outputs = {"Bucket": ref("Bucket"), "Arn": att("Bucket", "Arn"), "Domain": att("Bucket", "RegionalDomainName")}
    made = stack.create(resources, outputs)
    s3, bucket = aws.client("s3"), made["Bucket"]
    assert made["Domain"] == f"{bucket}.s3.us-east-1.amazonaws.com"
    policy = json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"])
    assert policy["Statement"][0]["Resource"] == [made["Arn"], f"{made['Arn']}/*"]
    assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    assert s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]["BlockPublicAcls"] is True
    s3.put_object(Bucket=bucket, Key="key", Body=b"a policy that asks for TLS does not keep us out")
    s3.delete_object(Bucket=bucket, Key="key")
    (version, marker) = (s3.list_object_versions(Bucket=bucket)[kind][0] for kind in ("Versions", "DeleteMarkers"))
    for entry in (version, marker):
        s3.delete_object(Bucket=bucket, Key="key", VersionId=entry["VersionId"])
    (rule,) = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert (rule["ID"], rule["Expiration"]["Days"]) == ("old", 30)
    resources["Bucket"]["Properties"]["LifecycleConfiguration"]["Rules"][0]["ExpirationInDays"] = 60
    assert stack.update(resources, outputs) == made
    (rule,) = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert rule["Expiration"]["Days"] == 60
    stack.delete()
    assert gone(lambda: s3.head_bucket(Bucket=bucket))


def test_secret_parameter_repository_key_and_log_group(aws: Aws, stack: Stack) -> None:
    """The small resources: values by Ref and GetAtt, changes in place, deletion."""
    name = f"/mnp/{unique('parameter')}"
    resources: dict[str, Any] = {
        "Secret": {
            "Type": "AWS::SecretsManager::Secret",
            "Properties": {
                "GenerateSecretString": {
                    "SecretStringTemplate": '{"user": "mnp"}',
                    "GenerateStringKey": "key",
                    "PasswordLength": 40,
                }
            },
        },
        "Parameter": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Name": name, "Type": "String", "Value": "1", "Tags": {"team": "a"}},
        },
        "Repository": {
            "Type": "AWS::ECR::Repository",
            "Properties": {"ImageScanningConfiguration": {"ScanOnPush": True}, "EmptyOnDelete": True},
        },
        "Key": {"Type": "AWS::KMS::Key", "Properties": {"EnableKeyRotation": True, "KeyPolicy": {"Statement": []}}},
        "Logs": {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": 30}},
        "Metadata": {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2"}},
    }
    outputs = {
        "Secret": ref("Secret"),
        "Parameter": ref("Parameter"),
        "Value": att("Parameter", "Value"),
        "Repository": att("Repository", "RepositoryUri"),
        "Key": att("Key", "Arn"),
        "Logs": att("Logs", "Arn"),
        "LogsName": ref("Logs"),
    }
    made = stack.create(resources, outputs)
    secret = aws.client("secretsmanager").get_secret_value(SecretId=made["Secret"])["SecretString"]
    assert json.loads(secret)["user"] == "mnp"
    assert len(json.loads(secret)["key"]) == 40
    assert (made["Parameter"], made["Value"]) == (name, "1")
    assert ".dkr.ecr.us-east-1." in made["Repository"]
    assert made["Key"].startswith("arn:aws:kms:us-east-1:123456789012:key/")
    assert made["Logs"] == f"arn:aws:logs:us-east-1:123456789012:log-group:{made['LogsName']}:*"
    resources["Parameter"]["Properties"]["Value"] = "2"
    resources["Logs"]["Properties"]["RetentionInDays"] = 7
    changed = stack.update(resources, outputs)
    assert changed == {**made, "Value": "2"}
    groups = aws.client("logs").describe_log_groups(logGroupNamePrefix=made["LogsName"])["logGroups"]
    assert [group["retentionInDays"] for group in groups] == [7]
    kept = aws.client("secretsmanager").get_secret_value(SecretId=made["Secret"])["SecretString"]
    assert kept == secret
    stack.delete()
    assert gone(lambda: aws.client("ssm").get_parameter(Name=name))
    assert gone(lambda: aws.client("secretsmanager").get_secret_value(SecretId=made["Secret"]))


def test_types_that_only_moto_models_work_too(aws: Aws, stack: Stack) -> None:
    """A type without a handler of ours is made by moto's model, and deleted by it."""
    resources: dict[str, Any] = {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": unique("topic")}}}
    made = stack.create(resources, {"Topic": ref("Topic"), "Name": att("Topic", "TopicName")})
    topics = [topic["TopicArn"] for topic in aws.client("sns").list_topics()["Topics"]]
    assert made["Topic"] in topics
    stack.delete()
    assert made["Topic"] not in str(aws.client("sns").list_topics()["Topics"])


def test_placement_groups_over_the_api(aws: Aws) -> None:
    """Create, describe with filters, refuse duplicates and strange strategies, delete."""
    ec2, name = aws.client("ec2"), unique("placement")
    tags = [{"ResourceType": "placement-group", "Tags": [{"Key": "a", "Value": "b"}]}]
    made = ec2.create_placement_group(GroupName=name, Strategy="cluster", TagSpecifications=tags)["PlacementGroup"]
    assert made["GroupArn"].endswith(f":placement-group/{name}")
    for filters in ([{"Name": "tag:a", "Values": ["b"]}], [{"Name": "group-name", "Values": [name]}]):
        assert name in [g["GroupName"] for g in ec2.describe_placement_groups(Filters=filters)["PlacementGroups"]]
    with pytest.raises(botocore.exceptions.ClientError, match=r"InvalidPlacementGroup\.Duplicate"):
        ec2.create_placement_group(GroupName=name, Strategy="cluster")
    with pytest.raises(botocore.exceptions.ClientError, match="InvalidParameterValue"):
        ec2.create_placement_group(GroupName=unique("placement"), Strategy="tight")
    ec2.delete_placement_group(GroupName=name)
    assert gone(lambda: ec2.describe_placement_groups(GroupNames=[name]))
