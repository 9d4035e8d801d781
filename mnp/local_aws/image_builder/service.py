"""Image Builder's HTTP front: routing, parameter checks by botocore's model, answers and refusals as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import botocore.validate

from mnp.local_aws.image_builder import configurations, images
from mnp.local_aws.image_builder.errors import (
    AlreadyExistsError,
    DependencyError,
    InvalidParameterError,
    InvalidRequestError,
)
from mnp.local_aws.image_builder.state import Request
from mnp.local_aws.rest_json import region_of, respond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from werkzeug.wrappers import Request as HttpRequest

    from mnp.local_aws.clients import Clients
    from mnp.local_aws.image_builder.state import State

# The kinds of resource: as operations call them, as ARNs do, and the parameter that holds an ARN.
_KINDS = {
    "Component": ("component", "componentBuildVersionArn"),
    "DistributionConfiguration": ("distribution-configuration", "distributionConfigurationArn"),
    "Image": ("image", "imageBuildVersionArn"),
    "ImagePipeline": ("image-pipeline", "imagePipelineArn"),
    "ImageRecipe": ("image-recipe", "imageRecipeArn"),
    "InfrastructureConfiguration": ("infrastructure-configuration", "infrastructureConfigurationArn"),
    "LifecyclePolicy": ("lifecycle-policy", "lifecyclePolicyArn"),
}
_OPERATIONS: dict[str, Callable[[Request], dict[str, Any]]] = {
    "CreateComponent": configurations.create_component,
    "CreateImage": images.create_image,
    "CreateImageRecipe": configurations.create_recipe,
    "StartImagePipelineExecution": images.start_pipeline,
    "StartResourceStateUpdate": images.update_state,
}
# Of the kinds that have a name and no version, and may change: what is checked when one is made or changed.
_CHECKS: dict[str, Callable[[Request], None]] = {
    "DistributionConfiguration": configurations.check_distribution,
    "ImagePipeline": images.check_pipeline,
    "InfrastructureConfiguration": configurations.check_infrastructure,
    "LifecyclePolicy": configurations.check_lifecycle_policy,
}
_TAGS_PATH = "/tags/"


class ImageBuilderService:
    """Image Builder as a WSGI application, for requests signed for `imagebuilder`."""

    def __init__(self, state: State, clients: Clients) -> None:
        self._state, self._clients = state, clients
        self._model = clients.service_model("imagebuilder")

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return respond(environ, start_response, self._answer)

    def _answer(self, http: HttpRequest) -> dict[str, Any]:
        region = region_of(http)
        body = http.get_json(silent=True) if http.get_data() else None
        request = Request(
            parameters=body if isinstance(body, dict) else dict(http.args.items()),
            region_name=region,
            region=self._state.regions[region],
            clients=self._clients,
        )
        with self._state.lock:
            if http.path.startswith(_TAGS_PATH):
                return _tags(request, http)
            name = http.path.strip("/")
            if name not in self._model.operation_names:
                raise InvalidRequestError(f"{http.path} is no operation")
            self._check(name, request.parameters)
            return _operate(name, request)

    def _check(self, name: str, parameters: dict[str, Any]) -> None:
        shape = self._model.operation_model(name).input_shape
        report = botocore.validate.ParamValidator().validate(parameters, shape)
        if report.has_errors():
            raise InvalidParameterError(report.generate_report())
        for violation in _violations(parameters, shape, name):
            raise InvalidParameterError(violation)


def _violations(value: Any, shape: Any, path: str) -> Iterator[str]:
    """Where text breaks the patterns and lengths of the API's model, which botocore leaves to the service."""
    match shape.type_name:
        case "structure":
            for name, each in value.items():
                yield from _violations(each, shape.members[name], f"{path}.{name}")
        case "list":
            for each in value:
                yield from _violations(each, shape.member, path)
        case "string":
            pattern, most = shape.metadata.get("pattern"), shape.metadata.get("max")
            if pattern and not re.search(pattern, value):
                yield f"{path}: {value[:200]!r} does not match {pattern}"
            if most and len(value) > most:
                yield f"{path}: {len(value)} characters; at most {most} are allowed"


def _operate(name: str, request: Request) -> dict[str, Any]:
    if name in _OPERATIONS:
        return _OPERATIONS[name](request)
    verb, kind = next(((verb, name.removeprefix(verb)) for verb in _VERBS if name.startswith(verb)), ("", ""))
    if kind not in _KINDS or (verb in {"Create", "Update"} and kind not in _CHECKS):
        raise InvalidRequestError(f"{name} is not modelled by the embedded AWS")
    return _VERBS[verb](kind, request)


def _create(kind: str, request: Request) -> dict[str, Any]:
    path, parameter = _KINDS[kind]
    _CHECKS[kind](request)
    arn = request.named_arn(path)
    if arn in request.region.resources:
        raise AlreadyExistsError(f"{arn} exists already.")
    request.region.resources[arn] = request.described(arn)
    return {parameter: arn}


def _update(kind: str, request: Request) -> dict[str, Any]:
    """An update names everything anew: what it leaves out is gone, but for name and tags."""
    parameter = _KINDS[kind][1]
    arn = request.parameters[parameter]
    before = request.region.get(arn)
    _CHECKS[kind](request)
    kept = {key: before[key] for key in ("name", "tags") if key in before}
    request.region.resources[arn] = kept | request.described(arn, parameter)
    return {parameter: arn}


def _get(kind: str, request: Request) -> dict[str, Any]:
    return {f"{kind[0].lower()}{kind[1:]}": request.region.get(request.parameters[_KINDS[kind][1]])}


def _delete(kind: str, request: Request) -> dict[str, Any]:
    parameter = _KINDS[kind][1]
    arn = request.parameters[parameter]
    request.region.get(arn)
    if users := request.region.users(arn):
        raise DependencyError(f"The resource ARN '{arn}' has other resources depended on it: {', '.join(users)}")
    del request.region.resources[arn]
    return {parameter: arn}


_VERBS: dict[str, Callable[[str, Request], dict[str, Any]]] = {
    "Create": _create,
    "Delete": _delete,
    "Get": _get,
    "Update": _update,
}


def _tags(request: Request, http: HttpRequest) -> dict[str, Any]:
    tags = request.region.get(unquote(http.path.removeprefix(_TAGS_PATH))).setdefault("tags", {})
    if http.method == "GET":
        return {"tags": tags}
    if http.method == "POST":
        tags.update(request.parameters["tags"])
    for key in http.args.getlist("tagKeys"):
        tags.pop(key, None)
    return {}
