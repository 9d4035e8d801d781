"""What the tests of the embedded AWS share: waiting, stacks, and a cluster to submit jobs to."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnp.local_aws import LocalAws

DEADLINE_SECONDS = 60
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def unique(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


def wait_until(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
    """Return the condition's value once it is true; fail when the deadline passes."""
    deadline = time.monotonic() + seconds
    pause = time.sleep
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        pause(0.05)
    return value


class Aws:
    """Clients of one LocalAws, made as a user makes them."""

    def __init__(self, server: LocalAws) -> None:
        self.server = server
        variables = server.environment()
        self._session = boto3.Session(
            aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
            region_name=variables["AWS_REGION"],
        )
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._session.client(
                service,  # type: ignore[call-overload] # the name is not known before
                endpoint_url=self.server.endpoint_url,
            )
        return self._clients[service]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


class Stack:
    """One CloudFormation stack of a test."""

    def __init__(self, aws: Aws, name: str | None = None) -> None:
        self.name = name or unique("stack")
        self._cloudformation = aws.client("cloudformation")
        self.stack_id = ""

    def create(self, resources: dict[str, Any], outputs: dict[str, Any] | None = None, **more: Any) -> dict[str, str]:
        body = _template(resources, outputs, more)
        self.stack_id = self._cloudformation.create_stack(StackName=self.name, TemplateBody=body)["StackId"]
        return self.outputs("CREATE_COMPLETE")

    def update(self, resources: dict[str, Any], outputs: dict[str, Any] | None = None, **more: Any) -> dict[str, str]:
        self._cloudformation.update_stack(StackName=self.name, TemplateBody=_template(resources, outputs, more))
        return self.outputs("UPDATE_COMPLETE")

    def delete(self) -> None:
        self._cloudformation.delete_stack(StackName=self.name)
        assert self.describe()["StackStatus"] == "DELETE_COMPLETE", self.reasons()

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = self._cloudformation.describe_stacks(StackName=self.stack_id)["Stacks"][0]
        return described

    def outputs(self, status: str) -> dict[str, str]:
        described = self.describe()
        assert described["StackStatus"] == status, self.reasons()
        return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}

    def reasons(self) -> list[str]:
        events = self._cloudformation.describe_stack_events(StackName=self.stack_id)["StackEvents"]
        return [event["ResourceStatusReason"] for event in events if event.get("ResourceStatusReason")]


def _template(resources: dict[str, Any], outputs: dict[str, Any] | None, more: dict[str, Any]) -> str:
    values = {key: {"Value": value} for key, value in (outputs or {}).items()}
    return json.dumps({"Resources": resources, "Outputs": values, **more})


def ref(name: str) -> dict[str, str]:
    return {"Ref": name}


def att(name: str, attribute: str) -> dict[str, list[str]]:
    return {"Fn::GetAtt": [name, attribute]}


@dataclass(frozen=True)
class Cluster:
    """A queue for multinode jobs, and the means to submit to it."""

    aws: Aws
    queue: str
    environment: str
    role_arn: str

    def define(self, script: str, *, nodes: int = 2, container: dict[str, Any] | None = None, **more: Any) -> str:
        """Register a multinode definition whose nodes run a bash script; return its ARN."""
        properties = {"numNodes": nodes, "mainNode": 0, "nodeRangeProperties": [
            {"targetNodes": "0:", "container": self.container(script, **(container or {}))}
        ]}  # fmt: skip
        answer = self.aws.client("batch").register_job_definition(
            jobDefinitionName=unique("definition"), type="multinode", nodeProperties=properties, **more
        )
        return str(answer["jobDefinitionArn"])

    def container(self, script: str, **more: Any) -> dict[str, Any]:
        return {
            "image": "none",
            "command": ["bash", "-c", script],
            "resourceRequirements": [{"type": "VCPU", "value": "8"}, {"type": "MEMORY", "value": "1024"}],
            **more,
        }

    def submit(self, definition: str, *, queue: str | None = None, **more: Any) -> str:
        answer = self.aws.client("batch").submit_job(
            jobName=unique("job"), jobQueue=queue or self.queue, jobDefinition=definition, **more
        )
        return str(answer["jobId"])

    def run(self, script: str, *, nodes: int = 2, submit: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Run a script on all nodes and return the finished job."""
        return self.finished(self.submit(self.define(script, nodes=nodes, **more), **(submit or {})))

    def describe(self, job_id: str) -> dict[str, Any]:
        described: dict[str, Any] = self.aws.client("batch").describe_jobs(jobs=[job_id])["jobs"][0]
        return described

    def wait(self, job_id: str, *statuses: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            job = self.describe(job_id)
            return job if job["status"] in statuses else None

        job: dict[str, Any] = wait_until(reached, f"{job_id} to be {statuses}: {self.describe(job_id)}")
        return job

    def finished(self, job_id: str) -> dict[str, Any]:
        return self.wait(job_id, "SUCCEEDED", "FAILED")

    def log(self, job_id: str, *, group: str = "/aws/batch/job") -> list[str]:
        """Return the lines of a job's or a node's last attempt."""
        return self.stream(self.describe(job_id)["container"]["logStreamName"], group=group)

    def stream(self, name: str, *, group: str = "/aws/batch/job") -> list[str]:
        answer = self.aws.client("logs").get_log_events(logGroupName=group, logStreamName=name, startFromHead=True)
        return [event["message"] for event in answer["events"]]


def make_cluster(aws: Aws, *, max_nodes: int = 4, instance_type: str = "p4d.24xlarge", **resources: Any) -> Cluster:
    """Make a network, roles, a compute environment and a queue over the services' APIs."""
    ec2, iam, batch = aws.client("ec2"), aws.client("iam"), aws.client("batch")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName=unique("group"), Description="nodes", VpcId=vpc)["GroupId"]
    role = iam.create_role(RoleName=unique("role"), AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]
    profile = unique("profile")
    iam.create_instance_profile(InstanceProfileName=profile)
    environment = batch.create_compute_environment(
        computeEnvironmentName=unique("environment"),
        type="MANAGED",
        computeResources={
            "type": "EC2",
            "minvCpus": 0,
            "maxvCpus": 96 * max_nodes,
            "instanceTypes": [instance_type],
            "subnets": [subnet],
            "securityGroupIds": [group],
            "instanceRole": profile,
            **resources,
        },
    )["computeEnvironmentName"]
    return Cluster(aws, make_queue(aws, environment), environment, role["Arn"])


def make_queue(aws: Aws, environment: str, **more: Any) -> str:
    name = unique("queue")
    order = [{"order": 1, "computeEnvironment": environment}]
    aws.client("batch").create_job_queue(jobQueueName=name, priority=1, computeEnvironmentOrder=order, **more)
    return name
