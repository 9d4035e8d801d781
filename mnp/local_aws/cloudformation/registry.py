"""Which handler a resource type has."""

from __future__ import annotations

from functools import cache

from moto.cloudformation.parsing import get_model_map

from mnp.local_aws.cloudformation.errors import TemplateError
from mnp.local_aws.cloudformation.moto_model import MotoModel
from mnp.local_aws.cloudformation.resource import Resource
from mnp.local_aws.cloudformation.resources import (
    batch,
    cdk_metadata,
    ecr,
    flow_log,
    iam,
    image_builder,
    kms,
    launch_template,
    logs,
    nat_gateway,
    placement_group,
    routing,
    s3,
    secrets_manager,
    security_group,
    ssm,
    subnet,
    vpc,
    vpc_endpoint,
)

_MODULES = (
    batch, cdk_metadata, ecr, flow_log, iam, image_builder, kms, launch_template, logs, nat_gateway, placement_group,
    routing, s3, secrets_manager, security_group, ssm, subnet, vpc, vpc_endpoint,
)  # fmt: skip

# moto has models of these, but they need a docker daemon or a public callback address.
_REFUSED = {
    "AWS::Lambda::Function": "functions are not run here",
    "AWS::CloudFormation::CustomResource": "custom resources need a Lambda function, which is not run here",
    "AWS::CloudFormation::Stack": "nested stacks are not modelled",
}


@cache
def _handlers() -> dict[str, Resource]:
    classes = (value for module in _MODULES for value in vars(module).values() if isinstance(value, type))
    return {cls.type_name: cls() for cls in classes if issubclass(cls, Resource) and hasattr(cls, "type_name")}


@cache
def _moto_models() -> dict[str, MotoModel]:
    return {name: MotoModel(model) for name, model in get_model_map().items() if name not in _REFUSED}


def handler(type_name: str, logical_id: str) -> Resource:
    """Return the handler of a resource type.

    Raises:
        TemplateError: Nobody models the type; the message names it and the logical id.
    """
    found = _handlers().get(type_name) or _moto_models().get(type_name)
    if found is None:
        custom = _REFUSED["AWS::CloudFormation::CustomResource"] if type_name.startswith("Custom::") else None
        reason = _REFUSED.get(type_name) or custom or "neither moto nor mnp.local_aws models this type"
        raise TemplateError(f"Resource {logical_id} has the unsupported type {type_name}: {reason}")
    return found
