"""Batch's HTTP front: routing, parameter checks by botocore's model, answers and refusals as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import botocore.validate

from mnp.local_aws.batch import compute_environments, job_definitions, job_queues, jobs, submission
from mnp.local_aws.batch.errors import ClientException
from mnp.local_aws.batch.request import Request
from mnp.local_aws.rest_json import region_of, respond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from werkzeug.wrappers import Request as HttpRequest

    from mnp.local_aws.batch.state import State
    from mnp.local_aws.clients import Clients
    from mnp.local_aws.executor.scheduler import Scheduler


_OPERATIONS: dict[str, Callable[[Request], dict[str, Any]]] = {
    "CancelJob": jobs.cancel,
    "CreateComputeEnvironment": compute_environments.create,
    "CreateJobQueue": job_queues.create,
    "DeleteComputeEnvironment": compute_environments.delete,
    "DeleteJobQueue": job_queues.delete,
    "DeregisterJobDefinition": job_definitions.deregister,
    "DescribeComputeEnvironments": compute_environments.describe,
    "DescribeJobDefinitions": job_definitions.describe,
    "DescribeJobQueues": job_queues.describe,
    "DescribeJobs": jobs.describe,
    "ListJobs": jobs.list_jobs,
    "RegisterJobDefinition": job_definitions.register,
    "SubmitJob": submission.submit,
    "TerminateJob": jobs.terminate,
    "UpdateComputeEnvironment": compute_environments.update,
    "UpdateJobQueue": job_queues.update,
}
_BY_PATH = {f"/v1/{name.lower()}": name for name in _OPERATIONS}
_TAGS_PATH = "/v1/tags/"


class BatchService:
    """Batch as a WSGI application, for requests signed for `batch`."""

    def __init__(self, state: State, clients: Clients, scheduler: Scheduler) -> None:
        self._state, self._clients, self._scheduler = state, clients, scheduler
        self._model = clients.service_model("batch")

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return respond(environ, start_response, self._answer)

    def _answer(self, http: HttpRequest) -> dict[str, Any]:
        region = region_of(http)
        body = http.get_data()
        try:
            parameters = json.loads(body) if body else {}
        except ValueError:
            raise ClientException("the request body is not JSON") from None
        request = Request(
            parameters=parameters,
            region_name=region,
            region=self._state.regions[region],
            clients=self._clients,
            scheduler=self._scheduler,
        )
        if http.path.startswith(_TAGS_PATH):
            with self._state.changed:
                return _tags(request, http)
        name = _BY_PATH.get(http.path)
        if name is None:
            raise ClientException(f"{http.path} is not modelled by the embedded AWS")
        shape = self._model.operation_model(name).input_shape
        report = botocore.validate.ParamValidator().validate(parameters, shape)
        if report.has_errors():
            raise ClientException(f"Error executing request, Exception : {report.generate_report()}")
        with self._state.changed:
            result = _OPERATIONS[name](request)
            if not name.startswith(("Describe", "List")):
                self._state.changed.notify_all()
            return result


def _tags(request: Request, http: HttpRequest) -> dict[str, Any]:
    arn = unquote(http.path.removeprefix(_TAGS_PATH))
    if http.method == "POST":
        request.set_tags(arn, request.parameters["tags"])
        return {}
    tags = request.region.tags.get(arn, {})
    if http.method == "DELETE":
        for key in http.args.getlist("tagKeys"):
            tags.pop(key, None)
        return {}
    return {"tags": tags}
