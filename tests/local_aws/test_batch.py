"""Batch's API: what it describes, and what it refuses in AWS's error shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import botocore.exceptions
import pytest

from tests.local_aws.support import make_cluster, make_queue, unique

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.local_aws.support import Aws, Cluster


def refusal(call: Callable[[], Any]) -> str:
    """Return the message of the ClientException that the call must meet."""
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call()
    response = caught.value.response
    assert (response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]) == ("ClientException", 400)
    return str(response["Error"]["Message"])


def test_multinode_definitions_are_described_as_registered(cluster: Cluster) -> None:
    """nodeProperties, retryStrategy, timeout, propagateTags and tags come back; a second one is revision 2."""
    batch, name = cluster.aws.client("batch"), unique("definition")
    properties = {"numNodes": 2, "mainNode": 1, "nodeRangeProperties": [
        {"targetNodes": "0:", "container": cluster.container("true", ulimits=[
            {"name": "memlock", "softLimit": -1, "hardLimit": -1}])}
    ]}  # fmt: skip
    given = {
        "type": "multinode",
        "nodeProperties": properties,
        "retryStrategy": {"attempts": 2, "evaluateOnExit": [{"onStatusReason": "Host EC2*", "action": "RETRY"}]},
        "timeout": {"attemptDurationSeconds": 3600},
        "propagateTags": True,
        "tags": {"team": "a"},
    }
    batch.register_job_definition(jobDefinitionName=name, **given)
    second = batch.register_job_definition(jobDefinitionName=name, **given)
    assert second["revision"] == 2
    described = batch.describe_job_definitions(jobDefinitionName=name, status="ACTIVE")["jobDefinitions"]
    assert [d["revision"] for d in described] == [2, 1]
    assert given.items() <= described[0].items()
    batch.deregister_job_definition(jobDefinition=second["jobDefinitionArn"])
    remaining = batch.describe_job_definitions(jobDefinitionName=name, status="ACTIVE")["jobDefinitions"]
    assert [d["revision"] for d in remaining] == [1]


def test_submissions_that_do_not_fit_the_definition_are_refused(cluster: Cluster) -> None:
    """Overrides of other ranges, of a closed definition's size, and containerOverrides are ClientExceptions."""
    open_ended = cluster.define("true")
    stranger = {"nodePropertyOverrides": [{"targetNodes": "0:1"}]}
    assert "Non matching targets - 0:1" in refusal(lambda: cluster.submit(open_ended, nodeOverrides=stranger))
    assert "nodeOverrides" in refusal(lambda: cluster.submit(open_ended, containerOverrides={"command": ["x"]}))
    batch = cluster.aws.client("batch")
    closed = {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": [
        {"targetNodes": "0:1", "container": cluster.container("true")}
    ]}  # fmt: skip
    definition = batch.register_job_definition(
        jobDefinitionName=unique("closed"), type="multinode", nodeProperties=closed
    )["jobDefinitionArn"]
    assert "open upper bound" in refusal(lambda: cluster.submit(definition, nodeOverrides={"numNodes": 3}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mainNode": 2}, "mainNode 2"),
        ({"numNodes": 4, "nodeRangeProperties": ["0:1", "3:"]}, "node 2 of 4"),
        ({"numNodes": 6, "nodeRangeProperties": ["0", "1", "2", "3", "4", "5"]}, "not 6"),
    ],
)
def test_definitions_with_ill_formed_ranges_are_refused(
    cluster: Cluster, changes: dict[str, Any], message: str
) -> None:
    """RegisterJobDefinition answers 400 and says which bound is wrong."""
    given: dict[str, Any] = {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": ["0:"], **changes}
    given["nodeRangeProperties"] = [
        {"targetNodes": target, "container": cluster.container("true")} for target in given["nodeRangeProperties"]
    ]
    register = cluster.aws.client("batch").register_job_definition
    name = unique("ill")
    assert message in refusal(lambda: register(jobDefinitionName=name, type="multinode", nodeProperties=given))


def test_unknown_and_disabled_queues_take_no_jobs(cluster: Cluster) -> None:
    """SubmitJob names the queue that is not there or not enabled; an unknown definition likewise."""
    definition = cluster.define("true")
    assert "no-such-queue" in refusal(lambda: cluster.submit(definition, queue="no-such-queue"))
    assert "no-such-definition" in refusal(lambda: cluster.submit("no-such-definition"))
    disabled = make_queue(cluster.aws, cluster.environment, state="DISABLED")
    assert disabled in refusal(lambda: cluster.submit(definition, queue=disabled))


@pytest.mark.parametrize("kind", ["SPOT", "FARGATE", "UNMANAGED"])
def test_multinode_jobs_need_an_on_demand_managed_environment(aws: Aws, cluster: Cluster, kind: str) -> None:
    """Spot, Fargate and unmanaged environments refuse a multinode job."""
    batch, name = aws.client("batch"), unique("other")
    described = batch.describe_compute_environments(computeEnvironments=[cluster.environment])
    resources = {**described["computeEnvironments"][0]["computeResources"], "type": kind}
    managed = {"type": "UNMANAGED"} if kind == "UNMANAGED" else {"type": "MANAGED", "computeResources": resources}
    batch.create_compute_environment(computeEnvironmentName=name, **managed)
    queue = make_queue(aws, name)
    assert f"not supported on {kind}" in refusal(lambda: cluster.submit(cluster.define("true"), queue=queue))


def launch_template(aws: Aws) -> dict[str, str]:
    interfaces = [{"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "efa"}]
    answer = aws.client("ec2").create_launch_template(
        LaunchTemplateName=unique("template"), LaunchTemplateData={"NetworkInterfaces": interfaces}
    )
    return {"launchTemplateId": answer["LaunchTemplate"]["LaunchTemplateId"]}


def test_security_groups_and_template_interfaces_exclude_each_other(aws: Aws, cluster: Cluster) -> None:
    """AWS's own words when both are given; neither is refused as well; interfaces alone are fine."""
    with pytest.raises(botocore.exceptions.ClientError, match="exclusively allowed"):
        make_cluster(aws, launchTemplate=launch_template(aws))
    with pytest.raises(botocore.exceptions.ClientError, match="securityGroupIds must be provided"):
        make_cluster(aws, securityGroupIds=[])
    made = make_cluster(aws, securityGroupIds=[], launchTemplate=launch_template(aws))
    described = aws.client("batch").describe_compute_environments(computeEnvironments=[made.environment])
    environment = described["computeEnvironments"][0]
    assert environment["computeResources"]["launchTemplate"]["version"] == "$Default"
    assert environment["serviceRole"].endswith("AWSServiceRoleForBatch")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"placementGroup": "nowhere"}, "InvalidPlacementGroup.Unknown"),
        ({"subnets": ["subnet-00000000"]}, "InvalidSubnetID.NotFound"),
        ({"instanceRole": "nobody"}, "NoSuchEntity"),
        ({"launchTemplate": {"launchTemplateName": "none"}}, "InvalidLaunchTemplateName"),
        ({"minvCpus": 1000}, "minvCpus 1000"),
    ],
)
def test_environments_that_name_what_is_not_there_are_refused(aws: Aws, change: dict[str, Any], message: str) -> None:
    """CreateComputeEnvironment looks up what it is given."""
    with pytest.raises(botocore.exceptions.ClientError, match=message):
        make_cluster(aws, **change)


@pytest.mark.parametrize(
    ("requirement", "nodes", "reason"),
    [
        ({"type": "GPU", "value": "9"}, 1, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"),
        ({"type": "VCPU", "value": "97"}, 1, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"),
        ({"type": "MEMORY", "value": "99999999"}, 1, "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"),
        ({"type": "GPU", "value": "8"}, 5, "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"),
    ],
)
def test_jobs_that_can_never_run_stay_runnable_with_the_reason(
    aws: Aws, requirement: dict[str, str], nodes: int, reason: str
) -> None:
    """A node larger than the instance type, or more nodes than maxvCpus, is AWS's misconfiguration, not a failure."""
    cluster = make_cluster(aws, max_nodes=4)
    base = {"VCPU": "8", "MEMORY": "1024", requirement["type"]: requirement["value"]}
    requirements = [{"type": key, "value": value} for key, value in base.items()]
    definition = cluster.define("true", nodes=nodes, container={"resourceRequirements": requirements})
    job = cluster.wait(cluster.submit(definition), "RUNNABLE")
    assert job.get("statusReason") == reason


def test_the_queue_cancels_what_waits_too_long(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue's jobStateTimeLimitActions end a job at the queue's head, with the reason, and let the next one run."""
    monkeypatch.setattr("mnp.local_aws.batch.job_queues._TIME_LIMIT_SECONDS", (1, 86400))
    cluster = make_cluster(aws, max_nodes=1)
    reason = "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"
    limit = {"reason": reason, "state": "RUNNABLE", "maxTimeSeconds": 1, "action": "CANCEL"}
    queue = make_queue(aws, cluster.environment, jobStateTimeLimitActions=[limit])
    stuck = cluster.submit(cluster.define("true", nodes=2), queue=queue)
    behind = cluster.submit(cluster.define("true", nodes=1), queue=queue)
    job = cluster.finished(stuck)
    assert (job["status"], job["statusReason"], job["isCancelled"]) == ("FAILED", reason, True)
    assert cluster.finished(behind)["status"] == "SUCCEEDED"


def test_a_job_behind_an_environment_that_grew_runs(aws: Aws) -> None:
    """UpdateComputeEnvironment's maxvCpus counts at once."""
    cluster = make_cluster(aws, max_nodes=1)
    job_id = cluster.submit(cluster.define("true", nodes=2))
    cluster.wait(job_id, "RUNNABLE")
    batch = aws.client("batch")
    batch.update_compute_environment(computeEnvironment=cluster.environment, computeResources={"maxvCpus": 192})
    assert cluster.finished(job_id)["status"] == "SUCCEEDED"


def test_parameters_are_checked_by_the_apis_model(cluster: Cluster) -> None:
    """A wrong type or a missing member is refused even if the client did not check it."""
    batch = cluster.aws.client("batch")
    batch.meta.events.register_last("before-call.batch.SubmitJob", _without_queue)
    try:
        assert "jobQueue" in refusal(lambda: cluster.submit(cluster.define("true")))
    finally:
        batch.meta.events.unregister("before-call.batch.SubmitJob", _without_queue)


def _without_queue(params: dict[str, Any], **_: object) -> None:
    body = json.loads(params["body"])
    del body["jobQueue"]
    params["body"] = json.dumps(body).encode()


def test_environments_in_use_cannot_be_deleted(aws: Aws) -> None:
    """Delete needs DISABLED, and no queue that refers to the environment."""
    cluster, batch = make_cluster(aws), aws.client("batch")
    delete = batch.delete_compute_environment
    assert "DISABLED" in refusal(lambda: delete(computeEnvironment=cluster.environment))
    batch.update_compute_environment(computeEnvironment=cluster.environment, state="DISABLED")
    assert cluster.queue in refusal(lambda: delete(computeEnvironment=cluster.environment))
    batch.update_job_queue(jobQueue=cluster.queue, state="DISABLED")
    batch.delete_job_queue(jobQueue=cluster.queue)
    delete(computeEnvironment=cluster.environment)
    assert not batch.describe_compute_environments(computeEnvironments=[cluster.environment])["computeEnvironments"]
