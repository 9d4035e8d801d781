"""What ECS serves a task over HTTP: its role's credentials, and its metadata.

The node code takes the path it takes on AWS: it holds no keys, only where to ask for them.
References, checked 2026-11-21: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html and
task-metadata-endpoint-v4-response.html in the same guide.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import botocore.exceptions
from werkzeug.wrappers import Request, Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mnp.local_aws.clients import Clients

PATH = "/_mnp/"
_SESSION_SECONDS = 3600


@dataclass(frozen=True, kw_only=True)
class Task:
    """A running container, as ECS would describe it."""

    task_id: str
    task_arn: str
    cluster_arn: str
    region: str
    image: str
    address: str
    role_arn: str | None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))


class TaskEndpoints:
    """A WSGI application for the paths below `/_mnp/`."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Lock()

    def add(self, task: Task, endpoint_url: str) -> dict[str, str]:
        """Serve a task and return the variables that tell its processes where."""
        with self._lock:
            self._tasks[task.task_id] = task
        variables = {"ECS_CONTAINER_METADATA_URI_V4": f"{endpoint_url}{PATH}metadata/{task.task_id}"}
        if task.role_arn:
            variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = f"{endpoint_url}{PATH}credentials/{task.task_id}"
            variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = task.token
        return variables

    def remove(self, task_id: str) -> None:
        with self._lock:
            self._tasks.pop(task_id, None)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        kind, _, rest = request.path.removeprefix(PATH).partition("/")
        task_id, _, what = rest.partition("/")
        with self._lock:
            task = self._tasks.get(task_id)
        if task is None:
            response = _json({"message": "no such task"}, 404)
        elif kind == "credentials":
            response = self._credentials(task, request.headers.get("Authorization", ""))
        elif kind == "metadata" and what in {"", "task"}:
            response = _json(_task_metadata(task) if what else _container_metadata(task))
        else:
            response = _json({"message": "not found"}, 404)
        answer: Iterable[bytes] = response(environ, start_response)
        return answer

    def _credentials(self, task: Task, authorization: str) -> Response:
        if not hmac.compare_digest(authorization.encode(), task.token.encode()):
            return _json({"message": "the authorization token is not this task's"}, 401)
        sts = self._clients.get("sts", task.region)
        try:
            answer = sts.assume_role(
                RoleArn=task.role_arn, RoleSessionName=task.task_id[:64], DurationSeconds=_SESSION_SECONDS
            )
        except botocore.exceptions.ClientError as error:
            return _json({"message": str(error)}, 500)
        credentials = answer["Credentials"]
        return _json(
            {
                "RoleArn": task.role_arn,
                "AccessKeyId": credentials["AccessKeyId"],
                "SecretAccessKey": credentials["SecretAccessKey"],
                "Token": credentials["SessionToken"],
                "Expiration": credentials["Expiration"].strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )


def _container_metadata(task: Task) -> dict[str, Any]:
    return {
        "DockerId": task.task_id,
        "Name": "default",
        "Image": task.image,
        "Labels": {"com.amazonaws.ecs.cluster": task.cluster_arn, "com.amazonaws.ecs.task-arn": task.task_arn},
        "DesiredStatus": "RUNNING",
        "KnownStatus": "RUNNING",
        "Type": "NORMAL",
        "LaunchType": "EC2",
        "Networks": [{"NetworkMode": "awsvpc", "IPv4Addresses": [task.address]}],
    }


def _task_metadata(task: Task) -> dict[str, Any]:
    return {
        "Cluster": task.cluster_arn,
        "TaskARN": task.task_arn,
        "DesiredStatus": "RUNNING",
        "KnownStatus": "RUNNING",
        "LaunchType": "EC2",
        "Containers": [_container_metadata(task)],
    }


def _json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(document), status, mimetype="application/json")
