"""Apps as production makes them: with the feature flags of cdk.json, which a bare App() does not read."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk.assertions import Template

from mnp.cluster.model import Cluster
from stacks.cluster_stack import ClusterStack
from stacks.clusters import add_cluster

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
P5: dict[str, Any] = {
    "name": "test",
    "region": "us-east-1",
    "availability_zone": "us-east-1a",
    "instance_type": "p5.48xlarge",
    "max_nodes": 4,
}


@cache
def feature_flags() -> dict[str, Any]:
    flags: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return flags


def new_app(**context: Any) -> cdk.App:
    return cdk.App(context=feature_flags() | context, analytics_reporting=False)


def stack_of(account: str | None = None, **changes: Any) -> ClusterStack:
    """The stack of a p5 cluster with these keys changed."""
    return add_cluster(new_app(), Cluster.model_validate(P5 | changes), account=account)


def only(template: Template, resource_type: str) -> dict[str, Any]:
    """The properties of the one resource of its type."""
    (resource,) = template.find_resources(resource_type).values()
    properties: dict[str, Any] = resource["Properties"]
    return properties
