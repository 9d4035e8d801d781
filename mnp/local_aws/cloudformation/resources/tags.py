"""How EC2 resources get their tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnp.local_aws.cloudformation.resource import Context


def tag_specification(context: Context, kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the `TagSpecifications` parameter for a resource of EC2's `kind`, if there are any tags."""
    tags = context.tags(properties)
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": tags}]} if tags else {}


def retag(context: Context, resource_id: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Replace the tags of an EC2 resource."""
    before, after = context.tags(old), context.tags(new)
    gone = {tag["Key"] for tag in before} - {tag["Key"] for tag in after}
    if gone:
        tags = [{"Key": key} for key in sorted(gone)]
        context.call("ec2", "DeleteTags", {}, Resources=[resource_id], Tags=tags)
    if after != before and after:
        context.call("ec2", "CreateTags", {}, Resources=[resource_id], Tags=after)
