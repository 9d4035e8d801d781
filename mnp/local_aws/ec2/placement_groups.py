"""EC2's placement groups, which moto lacks: create, describe, delete.

Reference: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreatePlacementGroup.html (checked 2026-11-21).
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

_STRATEGIES = ("cluster", "partition", "spread")
# (account, region) -> name -> the group as DescribePlacementGroups gives it.
_groups: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)


def install() -> None:
    """Give moto's EC2 the placement group operations, and forget the groups of an earlier server."""
    _groups.clear()
    EC2Response.create_placement_group = _create_placement_group
    EC2Response.describe_placement_groups = _describe_placement_groups
    EC2Response.delete_placement_group = _delete_placement_group


def _create_placement_group(request: Any) -> ActionResult:
    groups, name = _groups_of(request), request._get_param("GroupName")  # noqa: SLF001 - moto's own idiom
    strategy = request._get_param("Strategy", "cluster")  # noqa: SLF001 - moto's own idiom
    if strategy not in _STRATEGIES:
        raise EC2ClientError(
            "InvalidParameterValue",
            f"Invalid value '{strategy}' for Strategy. It must be one of: {', '.join(_STRATEGIES)}",
        )
    if name in groups:
        raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
    tags = request._parse_tag_specification().get("placement-group", {})  # noqa: SLF001 - moto's own idiom
    group_id = f"pg-{secrets.token_hex(8)}0"
    partition = "aws" if not hasattr(request, "partition") else request.partition
    arn = f"arn:{partition}:ec2:{request.region}:{request.current_account}:placement-group/{name}"
    groups[name] = {
        "GroupName": name,
        "GroupId": group_id,
        "GroupArn": arn,
        "State": "available",
        "Strategy": strategy,
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }
    for option in ("PartitionCount", "SpreadLevel"):
        value = request._get_param(option)  # noqa: SLF001 - moto's own idiom
        if value is not None:
            groups[name][option] = value
    return ActionResult({"PlacementGroup": groups[name]})


def _describe_placement_groups(request: Any) -> ActionResult:
    groups = _groups_of(request)
    names = request._get_param("GroupNames", [])  # noqa: SLF001 - moto's own idiom
    ids = request._get_param("GroupIds", [])  # noqa: SLF001 - moto's own idiom
    for name in names:
        _existing(groups, name)
    found = [group for group in groups.values() if not names or group["GroupName"] in names]
    found = [group for group in found if not ids or group["GroupId"] in ids]
    for name, values in (request._filters_from_querystring() or {}).items():  # noqa: SLF001 - moto's own idiom
        found = [group for group in found if _matches(group, name, values)]
    return ActionResult({"PlacementGroups": found})


def _delete_placement_group(request: Any) -> EmptyResult:
    groups, name = _groups_of(request), request._get_param("GroupName")  # noqa: SLF001 - moto's own idiom
    _existing(groups, name)
    del groups[name]
    return EmptyResult()


def _groups_of(request: Any) -> dict[str, dict[str, Any]]:
    return _groups[request.current_account, request.region]


def _existing(groups: dict[str, dict[str, Any]], name: str) -> None:
    if name not in groups:
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The placement group '{name}' is unknown.")


def _matches(group: dict[str, Any], name: str, values: list[str]) -> bool:
    if name.startswith("tag:"):
        tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
        return tags.get(name.removeprefix("tag:")) in values
    key = {"group-name": "GroupName", "strategy": "Strategy", "state": "State", "group-arn": "GroupArn"}.get(name)
    if key is None:
        raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return group[key] in values
