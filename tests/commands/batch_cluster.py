"""A cluster made by hand on the embedded AWS, whose smoke test is a few lines of Python instead of an all-reduce."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import boto3

from mnp.cluster.contract import Contract, parameter_name
from mnp.cluster.node_shape import NodeShape
from tests.commands.example_contract import example_contract

NODE = NodeShape(instance_type="g6.8xlarge", vcpus=32, gpus=1, memory_mib=1024, shared_memory_mib=512, efa_devices=1)
NODES = 3
# Every node but the main one waits to be stopped. The main one waits for the file HOLD to appear, if it is named.
PROGRAM = """
import os, pathlib, sys, time
hold = os.environ.get("HOLD")
main = os.environ["AWS_BATCH_JOB_NODE_INDEX"] == "0"
if main:
    print("[mnp] rendezvous 2/2: node 1 (127.0.0.1) is here", flush=True)
    print("[mnp] all-reduce 1/2: 8 B  12.3 us  busbw 0.01 GB/s", flush=True)
deadline = time.monotonic() + 60
while time.monotonic() < deadline and (not main or (hold and not pathlib.Path(hold).exists())):
    time.sleep(0.05)
print("options:", os.environ.get("MNP_SMOKE_OPTIONS"), flush=True)
if "RESULT" in os.environ:
    print("MNP_RESULT " + os.environ["RESULT"], flush=True)
sys.exit(int(os.environ.get("EXIT", "0")))
"""


@dataclass(frozen=True)
class BatchCluster:
    """The cluster's contract, and clients for what a test does by itself."""

    contract: Contract
    batch: Any
    s3: Any
    ssm: Any

    @property
    def name(self) -> str:
        """What --cluster takes."""
        return self.contract.cluster

    def set_smoke_test(self, **environ: str) -> None:
        """Make this the cluster's smoke test: PROGRAM with these variables."""
        arn = self.batch.register_job_definition(
            jobDefinitionName=f"{self.name}-smoke",
            type="multinode",
            nodeProperties={
                "numNodes": 2,
                "mainNode": 0,
                "nodeRangeProperties": [{"targetNodes": "0:", "container": _container(environ)}],
            },
        )["jobDefinitionArn"]
        contract = self.contract.model_copy(update={"smoke_job_definition_arn": arn})
        self.ssm.put_parameter(
            Name=parameter_name(self.name), Value=contract.model_dump_json(), Type="String", Overwrite=True
        )

    def status(self, job_id: str) -> str:
        """Return the job's status now."""
        return str(self.batch.describe_jobs(jobs=[job_id])["jobs"][0]["status"])


def _container(environ: dict[str, str]) -> dict[str, Any]:
    return {
        "image": "none",
        "command": [sys.executable, "-c", PROGRAM],
        "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}],
        "environment": [{"name": name, "value": value} for name, value in environ.items()],
        "logConfiguration": {"logDriver": "awslogs"},
    }


def make_cluster(session: boto3.Session, endpoint_url: str, name: str) -> BatchCluster:
    """Make queue, compute environment, bucket and contract of that name."""

    def client(service: Any) -> Any:
        return session.client(service, endpoint_url=endpoint_url)

    ec2, iam, batch, s3 = client("ec2"), client("iam"), client("batch"), client("s3")
    iam.create_instance_profile(InstanceProfileName=name)
    batch.create_compute_environment(
        computeEnvironmentName=name,
        type="MANAGED",
        computeResources={
            "type": "EC2",
            "minvCpus": 0,
            "maxvCpus": NODES * NODE.vcpus,
            "instanceTypes": [NODE.instance_type],
            "instanceRole": name,
            "subnets": [ec2.describe_subnets()["Subnets"][0]["SubnetId"]],
            "securityGroupIds": [ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"]],
        },
    )
    order = [{"order": 1, "computeEnvironment": name}]
    queue = batch.create_job_queue(jobQueueName=name, priority=1, computeEnvironmentOrder=order)
    contract = example_contract(
        cluster=name, max_nodes=NODES, queue_name=name, queue_arn=queue["jobQueueArn"], node=NODE, bucket=name
    )
    s3.create_bucket(Bucket=name)
    return BatchCluster(contract, batch, s3, client("ssm"))


def result(status: str = "PASS", **changes: Any) -> str:
    """Return a result document, as JSON on one line."""
    check = {"name": "bandwidth", "status": status, "message": "the bandwidth is what it is", "fix": "use EFA"}
    document = {
        "schema_version": 1,
        "kind": "smoke",
        "results": [
            {
                "size": 1048576,
                "count": 262144,
                "type": "float",
                "redop": "sum",
                "in_place": {"time": 610.5, "alg_bw": 1.72, "bus_bw": 1.72, "nwrong": 0},
            }
        ],
        "verdict": {"status": status, "headline": "two nodes agree", "checks": [check]},
    }
    return json.dumps({**document, **changes})
