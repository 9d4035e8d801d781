"""The executor's semantics: what a job's nodes see, and what ends a job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.local_aws.support import make_cluster, unique, wait_until

if TYPE_CHECKING:
    from tests.local_aws.support import Aws, Cluster

IS_MAIN = "[ $AWS_BATCH_JOB_NODE_INDEX = 0 ]"


def environment_of(cluster: Cluster, job_id: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in cluster.log(job_id) if "=" in line)


def test_nodes_get_batch_variables_and_only_children_the_main_address(cluster: Cluster) -> None:
    """Each node is told its index, the children where the main node is, and nobody the server's environment."""
    job = cluster.run(f"env; {IS_MAIN} && sleep 1 || sleep 60", nodes=3)
    assert job["status"] == "SUCCEEDED", job
    nodes = [environment_of(cluster, f"{job['jobId']}#{index}") for index in range(3)]
    assert [node["AWS_BATCH_JOB_NODE_INDEX"] for node in nodes] == ["0", "1", "2"]
    assert [node["AWS_BATCH_JOB_ID"] for node in nodes] == [f"{job['jobId']}#{index}" for index in range(3)]
    main_address = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"
    assert [node.get(main_address) for node in nodes] == [None, "127.0.0.1", "127.0.0.1"]
    for node in nodes:
        assert node["AWS_BATCH_JOB_NUM_NODES"] == "3"
        assert node["AWS_BATCH_JOB_MAIN_NODE_INDEX"] == "0"
        assert node["AWS_BATCH_JOB_ATTEMPT"] == "1"
        assert node["AWS_BATCH_JQ_NAME"] == cluster.queue
        assert node["AWS_BATCH_CE_NAME"] == cluster.environment
        assert node["MNP_SIMULATED"] == "1"
        assert not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "PYTEST_CURRENT_TEST", "PYTHONPATH"} & set(node)
    assert len({node["MNP_RENDEZVOUS_PORT"] for node in nodes}) == 1
    assert len({node["HOME"] for node in nodes}) == 3


def test_overrides_and_parameters_reach_the_command(cluster: Cluster) -> None:
    """numNodes, the environment and the command of a submission win, and Ref:: takes the job's parameters."""
    definition = cluster.define("exit 3", nodes=1, container={"environment": [{"name": "A", "value": "1"}]})
    job = cluster.finished(
        cluster.submit(
            definition,
            parameters={"word": "hello"},
            nodeOverrides={
                "numNodes": 2,
                "nodePropertyOverrides": [
                    {
                        "targetNodes": "0:",
                        "containerOverrides": {
                            "command": ["bash", "-c", f"echo Ref::word $A $B; {IS_MAIN} && sleep 1 || sleep 60"],
                            "environment": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}],
                        },
                    }
                ],
            },
        )
    )
    assert job["status"] == "SUCCEEDED"
    assert job["nodeProperties"]["numNodes"] == 2
    assert cluster.log(f"{job['jobId']}#1") == ["hello 2 3"]


def test_main_exit_ends_the_job_with_its_code(cluster: Cluster) -> None:
    """The main node's exit stops the children, and its exit code is the job's."""
    job = cluster.run(f"{IS_MAIN} && exit 7 || sleep 600")
    assert (job["status"], job["statusReason"]) == ("FAILED", "Essential container in task exited")
    assert job["attempts"][0]["container"]["exitCode"] == 7
    main, child = (cluster.describe(f"{job['jobId']}#{index}") for index in (0, 1))
    assert (main["container"]["exitCode"], main["nodeDetails"]) == (7, {"nodeIndex": 0, "isMainNode": True})
    assert (child["container"]["exitCode"], child["nodeDetails"]) == (143, {"nodeIndex": 1, "isMainNode": False})
    assert child["statusReason"] == "Stopped: the main node exited"


def test_a_child_that_ignores_sigterm_is_killed(cluster: Cluster) -> None:
    """After the stop timeout comes SIGKILL, also for what the child started in a session of its own."""
    script = f"""{IS_MAIN} && {{ sleep 1; exit 0; }}
        trap '' TERM; setsid sleep 6543 & echo daemon $!; while true; do sleep 1; done"""
    job = cluster.run(script)
    assert job["status"] == "SUCCEEDED"
    assert cluster.describe(f"{job['jobId']}#1")["container"]["exitCode"] == 137
    daemon = cluster.log(f"{job['jobId']}#1")[0].split()[1]
    wait_until(lambda: not is_running(daemon), "the daemon's end")


def is_running(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline") as command:  # noqa: PTH123 - a process, not a file of ours
            return "6543" in command.read()
    except FileNotFoundError:
        return False


def test_a_childs_death_alone_does_nothing(cluster: Cluster) -> None:
    """A failed child neither ends the job nor fails it."""
    job_id = cluster.submit(cluster.define(f"{IS_MAIN} || exit 9; until [ -e $HOME/go ]; do sleep 0.05; done"))
    cluster.wait(f"{job_id}#1", "FAILED")
    assert cluster.describe(job_id)["status"] == "RUNNING"
    home = cluster.describe(f"{job_id}#0")
    assert home["status"] == "RUNNING"
    cluster.aws.client("batch").terminate_job(jobId=job_id, reason="seen enough")
    cluster.finished(job_id)
    assert cluster.describe(f"{job_id}#1")["container"]["exitCode"] == 9


RETRIES: list[tuple[str, dict[str, Any], int, list[int]]] = [
    ("exit 1", {"attempts": 2}, 2, [1, 1]),
    ("[ $AWS_BATCH_JOB_ATTEMPT = 2 ]", {"attempts": 3}, 2, [1, 0]),
    ("exit 5", {"attempts": 3, "evaluateOnExit": [{"onExitCode": "5", "action": "EXIT"}]}, 1, [5]),
    ("exit 6", {"attempts": 2, "evaluateOnExit": [{"onExitCode": "5", "action": "EXIT"}]}, 2, [6, 6]),
]


@pytest.mark.parametrize(("script", "strategy", "attempts", "codes"), RETRIES)
def test_only_main_failures_are_retried(
    cluster: Cluster, script: str, strategy: dict[str, Any], attempts: int, codes: list[int]
) -> None:
    """A failure of the main node starts another attempt, up to the limit or a rule that says EXIT."""
    job = cluster.run(script, nodes=1, submit={"retryStrategy": strategy})
    assert [attempt["container"]["exitCode"] for attempt in job["attempts"]] == codes
    assert len(job["attempts"]) == attempts
    assert len({attempt["container"]["logStreamName"] for attempt in job["attempts"]}) == attempts
    assert job["status"] == ("SUCCEEDED" if codes[-1] == 0 else "FAILED")


def test_timeout_kills_and_is_not_retried(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that takes too long ends FAILED, with AWS's reason, whatever the retry strategy says."""
    monkeypatch.setattr("mnp.local_aws.batch.job_definitions._MIN_TIMEOUT_SECONDS", 1)
    job = cluster.run("sleep 600", submit={"timeout": {"attemptDurationSeconds": 1}, "retryStrategy": {"attempts": 3}})
    assert (job["status"], job["statusReason"]) == ("FAILED", "Job attempt duration exceeded timeout")
    assert len(job["attempts"]) == 1


def test_terminate_ends_all_nodes_without_retry(cluster: Cluster) -> None:
    """TerminateJob's reason becomes the job's, and there is no further attempt."""
    job_id = cluster.submit(cluster.define("sleep 600"), retryStrategy={"attempts": 3})
    cluster.wait(f"{job_id}#1", "RUNNING")
    cluster.aws.client("batch").cancel_job(jobId=job_id, reason="too late to cancel")
    assert cluster.describe(job_id)["status"] == "RUNNING"
    cluster.aws.client("batch").terminate_job(jobId=job_id, reason="not wanted")
    job = cluster.finished(job_id)
    assert (job["status"], job["statusReason"], job["isTerminated"]) == ("FAILED", "not wanted", True)
    assert len(job["attempts"]) == 1
    assert [cluster.describe(f"{job_id}#{i}")["container"]["exitCode"] for i in (0, 1)] == [143, 143]


def test_jobs_queue_first_in_first_out_behind_the_capacity(aws: Aws) -> None:
    """A job waits RUNNABLE until those before it leave room, and the later ones wait behind it."""
    cluster = make_cluster(aws, max_nodes=2)
    first = cluster.submit(cluster.define("sleep 600", nodes=2))
    cluster.wait(first, "RUNNING")
    second = cluster.submit(cluster.define("true", nodes=2))
    third = cluster.submit(cluster.define("true", nodes=1))
    cluster.wait(second, "RUNNABLE")
    cluster.wait(third, "RUNNABLE")
    aws.client("batch").terminate_job(jobId=first, reason="make room")
    ended = [cluster.finished(job) for job in (second, third)]
    assert [job["status"] for job in ended] == ["SUCCEEDED", "SUCCEEDED"]
    assert ended[0]["startedAt"] <= ended[1]["startedAt"]


def test_a_waiting_job_can_be_cancelled(aws: Aws) -> None:
    """CancelJob ends a job that has not started."""
    cluster = make_cluster(aws, max_nodes=1)
    first = cluster.submit(cluster.define("sleep 600", nodes=1))
    second = cluster.submit(cluster.define("true", nodes=1))
    cluster.wait(second, "RUNNABLE")
    aws.client("batch").cancel_job(jobId=second, reason="changed my mind")
    job = cluster.finished(second)
    assert (job["status"], job["statusReason"], job["isCancelled"]) == ("FAILED", "changed my mind", True)
    aws.client("batch").terminate_job(jobId=first, reason="done")
    cluster.finished(first)


@pytest.mark.parametrize(("script", "status"), [("exit 0", "SUCCEEDED"), ("exit 1", "FAILED")])
def test_dependent_jobs_wait_for_success(cluster: Cluster, script: str, status: str) -> None:
    """A job runs after those it depends on, and fails with them."""
    before = cluster.submit(cluster.define(f"sleep 0.2; {script}", nodes=1))
    after = cluster.finished(cluster.submit(cluster.define("true", nodes=1), dependsOn=[{"jobId": before}]))
    assert after["status"] == status
    assert (after.get("statusReason") == "Dependent Job failed") == (status == "FAILED")


def test_secrets_become_variables(cluster: Cluster) -> None:
    """A secret, one key of a JSON secret and an SSM parameter reach the container by their values."""
    secrets, ssm = cluster.aws.client("secretsmanager"), cluster.aws.client("ssm")
    plain = secrets.create_secret(Name=unique("plain"), SecretString="one")["ARN"]
    document = secrets.create_secret(Name=unique("json"), SecretString=json.dumps({"key": "two"}))["ARN"]
    name = unique("parameter")
    ssm.put_parameter(Name=name, Value="three", Type="SecureString")
    wanted = {"PLAIN": plain, "KEY": f"{document}:key::", "PARAMETER": name}
    entries = [{"name": variable, "valueFrom": source} for variable, source in wanted.items()]
    job = cluster.run("echo $PLAIN $KEY $PARAMETER", nodes=1, container={"secrets": entries})
    assert cluster.log(f"{job['jobId']}#0") == ["one two three"]


def test_a_secret_that_cannot_be_read_keeps_the_container_from_starting(cluster: Cluster) -> None:
    """The job fails with ECS's kind of reason, naming the secret."""
    job = cluster.run("true", nodes=1, container={"secrets": [{"name": "S", "valueFrom": "no-such-parameter"}]})
    assert (job["status"], job["statusReason"]) == ("FAILED", "Task failed to start")
    reason = job["attempts"][0]["container"]["reason"]
    assert reason.startswith("ResourceInitializationError")
    assert "no-such-parameter" in reason


def test_the_job_role_works_through_the_credentials_endpoint(cluster: Cluster) -> None:
    """boto3 in a node is the job role, with no key in the environment, and can read what ECS says of the task."""
    script = """python3 - <<'EOF'
import boto3, json, os, urllib.request
print(boto3.client("sts", region_name="us-east-1").get_caller_identity()["Arn"])
metadata = json.load(urllib.request.urlopen(os.environ["ECS_CONTAINER_METADATA_URI_V4"]))
print(metadata["Networks"][0]["IPv4Addresses"][0])
try:
    urllib.request.urlopen(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"])
except urllib.error.HTTPError as error:
    print("without the token:", error.code)
EOF"""
    job = cluster.run(script, nodes=1, container={"jobRoleArn": cluster.role_arn})
    identity, address, refused = cluster.log(f"{job['jobId']}#0")
    assert f"assumed-role/{cluster.role_arn.rsplit('/', 1)[1]}/" in identity
    assert (address, refused) == ("127.0.0.1", "without the token: 401")


def test_lines_appear_in_the_log_while_the_job_runs(cluster: Cluster) -> None:
    """A line is in CloudWatch Logs before the process has ended, and so is the last one without a line end."""
    job_id = cluster.submit(cluster.define("echo early; sleep 600", nodes=1))
    cluster.wait(f"{job_id}#0", "RUNNING")
    wait_until(lambda: cluster.log(f"{job_id}#0") == ["early"], "the line")
    cluster.aws.client("batch").terminate_job(jobId=job_id, reason="seen")
    cluster.finished(job_id)
    job = cluster.run("echo first; echo; printf 'no end'", nodes=1)
    assert cluster.log(f"{job['jobId']}#0") == ["first", "no end"]


def test_log_options_choose_group_and_prefix(cluster: Cluster) -> None:
    """awslogs-group and awslogs-stream-prefix are honoured, and a group that is not there is an error."""
    group = unique("/own/group")
    options = {"awslogs-group": group, "awslogs-stream-prefix": "mine"}
    container = {"logConfiguration": {"logDriver": "awslogs", "options": options}}
    job = cluster.run("echo hello", nodes=1, container=container)
    assert "log group" in job["attempts"][0]["container"]["reason"]
    cluster.aws.client("logs").create_log_group(logGroupName=group)
    job = cluster.run("echo hello", nodes=1, container=container)
    node = cluster.describe(f"{job['jobId']}#0")
    assert node["container"]["logStreamName"].startswith("mine/default/")
    assert cluster.log(node["jobId"], group=group) == ["hello"]


def test_a_command_that_does_not_exist_fails_with_127(cluster: Cluster) -> None:
    """The log says which executable was not found."""
    properties = {"command": ["no-such-program"]}
    job = cluster.run("", nodes=1, container=properties)
    assert job["attempts"][0]["container"]["exitCode"] == 127
    assert "no-such-program" in cluster.log(f"{job['jobId']}#0")[0]


def test_nodes_are_listed_by_their_job(cluster: Cluster) -> None:
    """ListJobs gives the queue's jobs and, by multiNodeJobId, a job's nodes in the state asked for."""
    job = cluster.run("true", nodes=1)
    batch = cluster.aws.client("batch")
    (node,) = batch.list_jobs(multiNodeJobId=job["jobId"], jobStatus="SUCCEEDED")["jobSummaryList"]
    assert node["jobId"] == f"{job['jobId']}#0"
    assert node["nodeProperties"] == {"isMainNode": True, "numNodes": 1, "nodeIndex": 0}
    assert batch.list_jobs(multiNodeJobId=job["jobId"])["jobSummaryList"] == []
    named = [{"name": "JOB_NAME", "values": [job["jobName"]]}]
    listed = batch.list_jobs(jobQueue=cluster.queue, filters=named)["jobSummaryList"]
    assert [entry["jobId"] for entry in listed] == [job["jobId"]]


def test_a_container_job_runs_as_one_process(cluster: Cluster) -> None:
    """A job of one container has no node variables and shows its container itself."""
    batch = cluster.aws.client("batch")
    definition = batch.register_job_definition(
        jobDefinitionName=unique("single"), type="container", containerProperties=cluster.container("env")
    )["jobDefinitionArn"]
    job_id = cluster.submit(definition, containerOverrides={"environment": [{"name": "X", "value": "y"}]})
    job = cluster.finished(job_id)
    assert (job["status"], job["container"]["exitCode"]) == ("SUCCEEDED", 0)
    variables = environment_of(cluster, job_id)
    assert (variables["AWS_BATCH_JOB_ID"], variables["X"]) == (job_id, "y")
    assert "AWS_BATCH_JOB_NODE_INDEX" not in variables
