"""Finds a deployed cluster: its contract is one SSM parameter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError
from pydantic import ValidationError

from mnp.cluster.contract import PARAMETER_PREFIX, Contract, parameter_name
from mnp.commands.errors import CommandError, UsageError

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_ssm import SSMClient

_SCHEMA_VERSION: int = Contract.model_fields["schema_version"].default
_DEPLOY = "Deploy it with `cdk deploy -c cluster=FILE`, or look in its region with --region."


def read_contract(session: boto3.Session, cluster: str | None) -> Contract:
    """Return the contract of the named cluster, or of the region's only one.

    Raises:
        UsageError: No such cluster, or several and no name given.
        CommandError: The parameter does not hold a contract that this version reads.
    """
    ssm = session.client("ssm")
    if cluster is None:
        return _read_only_contract(ssm)
    name = parameter_name(cluster)
    try:
        value = ssm.get_parameter(Name=name)["Parameter"]["Value"]
    except ssm.exceptions.ParameterNotFound as error:
        raise UsageError(
            f"there is no cluster {cluster!r} in {ssm.meta.region_name}: no SSM parameter {name}.", fix=_DEPLOY
        ) from error
    return parse_contract(name, value)


def _read_only_contract(ssm: SSMClient) -> Contract:
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=PARAMETER_PREFIX)
    try:
        found = {each["Name"]: each["Value"] for page in pages for each in page["Parameters"]}
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDeniedException":
            raise
        # The cluster's submitter policy allows reading that one cluster's parameter, not the list of all.
        raise UsageError(
            "you are not allowed to list the clusters.", fix="Name yours with --cluster NAME, or set MNP_CLUSTER."
        ) from error
    if not found:
        raise UsageError(
            f"there is no cluster in {ssm.meta.region_name}: no SSM parameter under {PARAMETER_PREFIX}.", fix=_DEPLOY
        )
    if len(found) > 1:
        names = ", ".join(sorted(name.removeprefix(PARAMETER_PREFIX) for name in found))
        raise UsageError(
            f"there are {len(found)} clusters in {ssm.meta.region_name}: {names}.",
            fix="Say which one with --cluster NAME, or set MNP_CLUSTER.",
        )
    return parse_contract(*found.popitem())


def parse_contract(parameter: str, value: str) -> Contract:
    """Return the contract that the SSM parameter's value holds; raises CommandError, which names the parameter."""
    redeploy = "Deploy the cluster again with this version of mnp."
    try:
        document = json.loads(value)
    except json.JSONDecodeError as error:
        raise CommandError(f"SSM parameter {parameter} is not JSON: {error}.", fix=redeploy) from error
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > _SCHEMA_VERSION:
        raise CommandError(
            f"SSM parameter {parameter} has schema_version {version}; this mnp reads up to {_SCHEMA_VERSION}.",
            fix="Upgrade mnp to the version that deployed the cluster.",
        )
    try:
        return Contract.model_validate(document)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise CommandError(f"SSM parameter {parameter} is not a cluster's contract: {wrong}.", fix=redeploy) from error
