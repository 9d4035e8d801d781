"""What a build is made by: components, recipes, infrastructure and distribution configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import botocore.exceptions

from mnp.local_aws.image_builder.documents import check_document
from mnp.local_aws.image_builder.errors import AlreadyExistsError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mnp.local_aws.image_builder.state import Request

_PARAMETER = "ssm:"


def create_component(request: Request) -> dict[str, Any]:
    """A second component of a name and version is a new build of it, unless its content is the same."""
    asked = request.parameters
    if "data" not in asked:
        raise InvalidParameterError("data: components from S3 (uri) are not modelled by the embedded AWS")
    check_document(asked["data"])
    prefix = f"{request.named_arn('component')}/{asked['semanticVersion']}/"
    build = request.region.next_build(prefix)
    latest = f"{prefix}{build - 1}"
    if build > 1 and request.region.get(latest)["data"] == asked["data"]:
        raise AlreadyExistsError(f"The component {latest} exists already, with the same content.")
    arn = f"{prefix}{build}"
    version = f"{asked['semanticVersion']}/{build}"
    request.region.resources[arn] = {**request.described(arn, "semanticVersion"), "version": version, "type": "BUILD"}
    return {"componentBuildVersionArn": arn}


def create_recipe(request: Request) -> dict[str, Any]:
    asked = request.parameters
    arn = f"{request.named_arn('image-recipe')}/{asked['semanticVersion']}"
    if request.region.named(arn):
        raise AlreadyExistsError(f"The recipe {arn} exists already: a recipe of other content needs another version.")
    for component in asked.get("components", []):
        request.region.get(component["componentArn"])
    parent_image(request, asked["parentImage"])
    described = request.described(arn, "semanticVersion")
    request.region.resources[arn] = {**described, "version": asked["semanticVersion"], "platform": "Linux"}
    return {"imageRecipeArn": arn}


def parent_image(request: Request, parent: str) -> str:
    """Return the id of the AMI that a recipe starts from, now.

    Raises:
        InvalidParameterError: There is no such image or parameter.
    """
    if parent.startswith(_PARAMETER):
        name = parent.removeprefix(_PARAMETER)
        answer = looked_up("parentImage", lambda: request.client("ssm").get_parameter(Name=name))
        parent = answer["Parameter"]["Value"]
    looked_up("parentImage", lambda: request.client("ec2").describe_images(ImageIds=[parent]))
    return parent


def check_infrastructure(request: Request) -> None:
    """Refuse what names things that do not exist, or a subnet without security groups."""
    asked, ec2 = request.parameters, request.client("ec2")
    profile = asked["instanceProfileName"]
    looked_up("instanceProfileName", lambda: request.client("iam").get_instance_profile(InstanceProfileName=profile))
    groups, subnet = asked.get("securityGroupIds"), asked.get("subnetId")
    if subnet and not groups:
        raise InvalidParameterError("subnetId: securityGroupIds must be given with it")
    if subnet:
        looked_up("subnetId", lambda: ec2.describe_subnets(SubnetIds=[subnet]))
    if groups:
        looked_up("securityGroupIds", lambda: ec2.describe_security_groups(GroupIds=groups))


def check_distribution(request: Request) -> None:
    """Refuse an AMI name that two builds would share, and regions to which nothing is copied here."""
    for distribution in request.parameters["distributions"]:
        if distribution["region"] != request.region_name:
            raise InvalidParameterError(f"region {distribution['region']}: copies to other regions are not modelled")
        name = distribution.get("amiDistributionConfiguration", {}).get("name")
        if name is not None and "{{ imagebuilder:buildDate }}" not in name:
            raise InvalidParameterError(f"name {name!r} must hold {{{{ imagebuilder:buildDate }}}}")


def check_lifecycle_policy(request: Request) -> None:
    """Refuse what deletes by a rule that says nothing, or in the name of a role that is not there."""
    asked = request.parameters
    role = asked["executionRole"].rsplit("/", 1)[-1]
    looked_up("executionRole", lambda: request.client("iam").get_role(RoleName=role))
    if len(asked["resourceSelection"]) != 1:
        raise InvalidParameterError("resourceSelection: either recipes or a tagMap must be given")
    for detail in asked["policyDetails"]:
        chosen, action = detail["filter"], detail["action"]["type"]
        if chosen["type"] == "AGE" and "unit" not in chosen:
            raise InvalidParameterError("filter: unit must be given for an AGE")
        if chosen["type"] == "COUNT" and action != "DELETE":
            raise InvalidParameterError(f"filter: COUNT goes with DELETE, not with {action}")


def looked_up(parameter: str, call: Callable[[], Any]) -> Any:
    """The call's answer; a refusal is that of the parameter which led to it."""
    try:
        return call()
    except botocore.exceptions.ClientError as error:
        details = error.response["Error"]
        raise InvalidParameterError(f"{parameter}: {details.get('Message')} ({details.get('Code')})") from error
