"""Images and pipelines: a build takes no time, and registers a copy of the parent's AMI."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mnp.local_aws.clients import ACCOUNT_ID
from mnp.local_aws.image_builder.configurations import parent_image
from mnp.local_aws.image_builder.errors import InvalidRequestError

if TYPE_CHECKING:
    from mnp.local_aws.image_builder.state import Request

_BUILD_DATE = "{{ imagebuilder:buildDate }}"
_OWN_TAGS = {"CreatedBy": "EC2 Image Builder"}


def create_image(request: Request) -> dict[str, Any]:
    return {"imageBuildVersionArn": _build(request, request.parameters)}


def start_pipeline(request: Request) -> dict[str, Any]:
    pipeline = request.region.get(request.parameters["imagePipelineArn"])
    return {"imageBuildVersionArn": _build(request, {**pipeline, "tags": pipeline.get("imageTags", {})})}


def check_pipeline(request: Request) -> None:
    """Refuse a pipeline of things that do not exist."""
    _made_by(request, request.parameters)


def update_state(request: Request) -> dict[str, Any]:
    """Delete an image, with its AMIs if these are included: the one change of state that is modelled."""
    asked = request.parameters
    arn, status = asked["resourceArn"], asked["state"].get("status")
    if status != "DELETED":
        raise InvalidRequestError(f"state {status!r} is not modelled by the embedded AWS; DELETED is")
    image = request.region.get(arn)
    if asked.get("includeResources", {}).get("amis"):
        if not asked.get("executionRole"):
            raise InvalidRequestError("executionRole must be given to delete the AMIs of an image")
        for ami in image["outputResources"]["amis"]:
            request.client("ec2").deregister_image(ImageId=ami["image"])
    del request.region.resources[arn]
    return {"lifecycleExecutionId": f"lce-{arn[-36:].replace('/', '-')}", "resourceArn": arn}


def _made_by(request: Request, source: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recipe and the distribution of a build; all that it refers to must be there."""
    if "imageRecipeArn" not in source:
        raise InvalidRequestError("imageRecipeArn must be given: container recipes are not modelled")
    request.region.get(source["infrastructureConfigurationArn"])
    distribution = source.get("distributionConfigurationArn")
    found = request.region.get(distribution) if distribution else {"distributions": []}
    return request.region.get(source["imageRecipeArn"]), found


def _build(request: Request, source: dict[str, Any]) -> str:
    """Build an image now and return its ARN."""
    recipe, distribution = _made_by(request, source)
    prefix = f"{recipe['arn'].replace(':image-recipe/', ':image/')}/"
    build = request.region.next_build(prefix)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")
    ami = _register(request, recipe, distribution["distributions"], now)
    arn = f"{prefix}{build}"
    request.region.resources[arn] = {
        "arn": arn,
        "name": recipe["name"],
        "version": f"{recipe['version']}/{build}",
        "platform": "Linux",
        "state": {"status": "AVAILABLE"},
        "dateCreated": now,
        "imageRecipe": recipe,
        "outputResources": {"amis": [{"region": request.region_name, "image": ami, "accountId": ACCOUNT_ID}]},
        "tags": source.get("tags", {}),
    }
    return arn


def _register(request: Request, recipe: dict[str, Any], distributions: list[dict[str, Any]], now: str) -> str:
    """Make the AMI, tag it, write its id to the parameters of the distributions; return the id."""
    output: dict[str, Any] = {}
    for distribution in distributions:
        output |= distribution.get("amiDistributionConfiguration", {})
    name = output.get("name", f"{recipe['name']} {_BUILD_DATE}").replace(_BUILD_DATE, now)
    parent = parent_image(request, recipe["parentImage"])
    ec2 = request.client("ec2")
    ami = str(ec2.copy_image(SourceImageId=parent, SourceRegion=request.region_name, Name=name)["ImageId"])
    tags = _OWN_TAGS | output.get("amiTags", {})
    ec2.create_tags(Resources=[ami], Tags=[{"Key": key, "Value": value} for key, value in tags.items()])
    for distribution in distributions:
        for parameter in distribution.get("ssmParameterConfigurations", []):
            request.client("ssm").put_parameter(
                Name=parameter["parameterName"],
                Value=ami,
                Type="String",
                DataType=parameter.get("dataType", "text"),
                Overwrite=True,
            )
    return ami
