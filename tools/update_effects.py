"""What a deploy does to a cluster, judged from its templates before and after.

What CloudFormation can only replace stands in its resource schemas, which cfn-lint carries; what an update in place
does stands here, as data. A change that neither knows is an error.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from mnp.cluster.model import Cluster
from stacks.jsii_node import use_pinned_node

use_pinned_node()

import aws_cdk as cdk  # noqa: E402 -- after Node was chosen

from stacks.clusters import add_cluster  # noqa: E402

ROOT = Path(__file__).parent.parent


class Effect(IntEnum):
    """What a deploy does to a cluster; of several effects, the worst counts."""

    NOTHING = 0
    NEW_REVISION = 1
    NEW_NODES = 2
    NEW_ENVIRONMENT = 3
    NEW_CLUSTER = 4
    REFUSED = 5


@dataclass(frozen=True)
class Finding:
    """`decisive` holds type and property of what makes the effect, `others` the types that change besides.

    `notes` tells of running jobs what the effect alone does not.
    """

    effect: Effect
    decisive: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class UnclassifiedError(Exception):
    """A property or a resource changes of which the tables below do not say what that does."""


# What becomes of the cluster when CloudFormation replaces a resource: all that stands on it is made anew, or moves.
REPLACED = {
    "AWS::Batch::ComputeEnvironment": Effect.NEW_ENVIRONMENT,
    "AWS::EC2::FlowLog": Effect.NOTHING,
    "AWS::EC2::NatGateway": Effect.NEW_CLUSTER,
    # The environment names it, and that change is judged by itself.
    "AWS::EC2::PlacementGroup": Effect.NEW_NODES,
    "AWS::EC2::Route": Effect.NEW_CLUSTER,
    "AWS::EC2::RouteTable": Effect.NEW_CLUSTER,
    "AWS::EC2::SecurityGroup": Effect.NEW_CLUSTER,
    "AWS::EC2::SecurityGroupEgress": Effect.NOTHING,
    "AWS::EC2::SecurityGroupIngress": Effect.NOTHING,
    "AWS::EC2::Subnet": Effect.NEW_CLUSTER,
    "AWS::EC2::SubnetRouteTableAssociation": Effect.NEW_CLUSTER,
    "AWS::EC2::VPC": Effect.NEW_CLUSTER,
    "AWS::EC2::VPCEndpoint": Effect.NEW_CLUSTER,
    "AWS::EC2::VPCGatewayAttachment": Effect.NEW_CLUSTER,
    "AWS::ImageBuilder::Component": Effect.NOTHING,
    # The environment has its id by a parameter, and that change is judged by itself.
    "AWS::ImageBuilder::Image": Effect.NOTHING,
    "AWS::ImageBuilder::ImageRecipe": Effect.NOTHING,
}

# Properties that CloudFormation updates in place ("Update requires: No interruption"), tags apart, whose resource
# schema says it itself: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/, checked 2026-11-21.
# Of the compute environment, the scaling updates, which replace no instance:
# https://docs.aws.amazon.com/batch/latest/userguide/scaling-updates.html, checked 2026-11-21.
UPDATED = {
    "AWS::Batch::ComputeEnvironment": {
        "ComputeResources/MaxvCpus": Effect.NOTHING,
        "ReplaceComputeEnvironment": Effect.NOTHING,
        "UpdatePolicy": Effect.NOTHING,
    },
    "AWS::Batch::JobDefinition": {"NodeProperties": Effect.NEW_REVISION},
    "AWS::Batch::JobQueue": {"ComputeEnvironmentOrder": Effect.NOTHING, "JobStateTimeLimitActions": Effect.NOTHING},
    # A new version, which no node has until the environment names it; that change is judged by itself.
    "AWS::EC2::LaunchTemplate": {"LaunchTemplateData": Effect.NOTHING},
    # It follows the gateway, whose replacement is judged by itself.
    "AWS::EC2::Route": {"NatGatewayId": Effect.NOTHING},
    "AWS::EC2::SecurityGroup": {"SecurityGroupIngress": Effect.NOTHING},
    "AWS::EC2::VPCEndpoint": {"RouteTableIds": Effect.NOTHING, "SubnetIds": Effect.NOTHING},
    "AWS::IAM::ManagedPolicy": {"PolicyDocument": Effect.NOTHING},
    "AWS::IAM::Policy": {"PolicyDocument": Effect.NOTHING},
    "AWS::ImageBuilder::DistributionConfiguration": {"Distributions": Effect.NOTHING},
    "AWS::ImageBuilder::ImagePipeline": {"ImageRecipeArn": Effect.NOTHING},
    "AWS::ImageBuilder::InfrastructureConfiguration": {"SecurityGroupIds": Effect.NOTHING, "SubnetId": Effect.NOTHING},
    "AWS::SSM::Parameter": {"Value": Effect.NOTHING},
}

# Return values that change when their resource is updated in place; when it is replaced, all of them do.
UPDATED_ATTRIBUTES = {
    "AWS::Batch::JobDefinition": {"Ref"},  # the ARN, which ends in the revision
    "AWS::EC2::LaunchTemplate": {"LatestVersionNumber"},
}

# Types whose resources may come and go beside the cluster, and what their going means to running jobs.
COME_AND_GO = {
    "AWS::Batch::ComputeEnvironment": "",
    "AWS::EC2::EIP": "",
    "AWS::EC2::InternetGateway": "",
    "AWS::EC2::NatGateway": "Their connections through the NAT gateway end; private endpoints remain.",
    "AWS::EC2::PlacementGroup": "",
    "AWS::EC2::Route": "",
    "AWS::EC2::RouteTable": "",
    "AWS::EC2::SecurityGroup": "",
    "AWS::EC2::SecurityGroupEgress": "",
    "AWS::EC2::SecurityGroupIngress": "",
    "AWS::EC2::Subnet": "",
    "AWS::EC2::SubnetRouteTableAssociation": "",
    "AWS::EC2::VPCEndpoint": "",
    "AWS::EC2::VPCGatewayAttachment": "",
    "AWS::IAM::Policy": "",
}

Resources = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Templates:
    """A cluster's stacks by name and region, their resources by logical id, and the ids that one stack exports."""

    stacks: frozenset[tuple[str, str]]
    resources: Resources
    exported: frozenset[str]


def synthesise(cluster: Cluster) -> Templates:
    """The templates as production makes them, with the feature flags of cdk.json, which a bare App() does not read."""
    flags = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    with tempfile.TemporaryDirectory() as folder:
        app = cdk.App(context=flags, analytics_reporting=False, outdir=folder)
        add_cluster(app, cluster, account=None)
        stacks = {stack.stack_name: stack.template for stack in app.synth().stacks}
    exports = {
        output["Export"]["Name"]: output["Value"]
        for template in stacks.values()
        for output in template.get("Outputs", {}).values()
        if "Export" in output
    }
    parameters = {name: each for template in stacks.values() for name, each in template.get("Parameters", {}).items()}
    published = _published(stacks)
    parameters = {name: published.get(each.get("Default"), each) for name, each in parameters.items()}
    resources = {
        logical_id: {
            "stack": name,
            **resource,
            "Properties": _resolved(resource.get("Properties", {}), exports, parameters),
        }
        for name, template in stacks.items()
        for logical_id, resource in template["Resources"].items()
    }
    exported = {logical_id for value in exports.values() for logical_id, _ in references(value)}
    return Templates(frozenset((name, cluster.region) for name in stacks), resources, frozenset(exported))


def _published(stacks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The image's id by the name of the SSM parameter that holds it after a build."""
    return {
        parameter["ParameterName"]: {"Fn::GetAtt": [image, "ImageId"]}
        for template in stacks.values()
        for image, resource in template["Resources"].items()
        if resource["Type"] == "AWS::ImageBuilder::Image"
        for name, _ in references(resource["Properties"]["DistributionConfigurationArn"])
        for distribution in template["Resources"][name]["Properties"]["Distributions"]
        for parameter in distribution["SsmParameterConfigurations"]
    }


def _resolved(value: Any, exports: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """The value with what it imports from the other stack, and with the definitions of template parameters."""
    match value:
        case {"Fn::ImportValue": name}:
            return exports[name]
        case {"Ref": name} if name in parameters:
            return parameters[name]
        case dict():
            return {key: _resolved(each, exports, parameters) for key, each in value.items()}
        case list():
            return [_resolved(each, exports, parameters) for each in value]
    return value


def references(value: Any) -> Iterator[tuple[str, str]]:
    """Logical id and return value of every resource that the value refers to."""
    match value:
        case {"Ref": str(name)}:
            yield name, "Ref"
        case {"Fn::GetAtt": [name, attribute]}:
            yield name, attribute
        case {"Fn::Sub": str(text)}:
            yield from ((name, rest or "Ref") for name, rest in re.findall(r"\$\{(\w+)(?:\.([\w.]+))?\}", text))
        case dict() | list():
            for each in value.values() if isinstance(value, dict) else value:
                yield from references(each)


@cache
def _schema(resource_type: str) -> dict[str, Any]:
    schema: dict[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource_type).schema
    return schema


@cache
def _paths(resource_type: str, kind: str) -> frozenset[str]:
    return frozenset(pointer.removeprefix("/properties/") for pointer in _schema(resource_type).get(kind, ()))


def _create_only(resource_type: str) -> frozenset[str]:
    return _paths(resource_type, "createOnlyProperties")


def properties(resource: Mapping[str, Any]) -> dict[str, Any]:
    """The resource's properties by path, as deep as the type's schema tells them apart."""
    kind = resource["Type"]
    known = _create_only(kind) | _paths(kind, "conditionalCreateOnlyProperties")
    flat: dict[str, Any] = {}

    def add(path: str, value: Any) -> None:
        if isinstance(value, dict) and any(each.startswith(f"{path}/") for each in known):
            for name, each in value.items():
                add(f"{path}/{name}", each)
        else:
            flat[path] = value

    for name, value in resource["Properties"].items():
        add(name, value)
    return flat


def changed_properties(before: Resources, after: Resources) -> dict[str, set[str]]:
    """Paths of the properties that change of resources in both, also for a reference to what changes elsewhere."""
    values = {each: (properties(before[each]), properties(after[each])) for each in before.keys() & after.keys()}
    changed = {
        each: {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        for each, (old, new) in values.items()
    }
    grown = True
    while grown:
        stale = {(each, attribute) for each, paths in changed.items() for attribute in _stale(after[each], paths)}
        reached = {
            (each, path)
            for each, (_, new) in values.items()
            for path, value in new.items()
            for name, attribute in references(value)
            if path not in changed[each] and ((name, attribute) in stale or (name, "*") in stale)
        }
        for each, path in reached:
            changed[each].add(path)
        grown = bool(reached)
    return {each: paths for each, paths in changed.items() if paths}


def _stale(resource: Mapping[str, Any], paths: set[str]) -> set[str]:
    if not paths:
        return set()
    if any(effect_replaces(resource, path) for path in paths):
        return {"*"}
    return UPDATED_ATTRIBUTES.get(resource["Type"], set())


def effect_replaces(resource: Mapping[str, Any], path: str) -> bool:
    """Whether CloudFormation makes the resource anew when this property changes."""
    kind = resource["Type"]
    if path in _create_only(kind):
        return True
    # What a compute environment's update needs new instances for; with this switch they come with a new environment:
    # https://docs.aws.amazon.com/batch/latest/userguide/infrastructure-updates.html, checked 2026-11-21.
    return path in _paths(kind, "conditionalCreateOnlyProperties") and bool(
        resource["Properties"].get("ReplaceComputeEnvironment")
    )


def effect_of(resource: Mapping[str, Any], path: str) -> Effect:
    """What the change of one property does.

    Raises:
        UnclassifiedError: neither the schema of the type nor the tables say.
    """
    kind = resource["Type"]
    if effect_replaces(resource, path):
        known = REPLACED.get(kind)
    elif kind == "AWS::Batch::ComputeEnvironment" and path in _paths(kind, "conditionalCreateOnlyProperties"):
        known = Effect.NEW_NODES
    elif path == "Tags" and _schema(kind).get("tagging", {}).get("tagUpdatable"):
        known = Effect.NOTHING
    else:
        known = UPDATED.get(kind, {}).get(path)
    if known is None:
        raise UnclassifiedError(f"{kind}: a change of {path} is not classified in tools/{Path(__file__).name}")
    return known


def judge(before: Templates, after: Templates) -> Finding:
    """What the deploy of `after` over `before` does.

    Raises:
        UnclassifiedError: a change is not in the tables.
    """
    gone = before.stacks - after.stacks
    if gone == before.stacks:
        return Finding(Effect.NEW_CLUSTER, notes=("The deploy makes a second cluster.", _left(gone)))
    old, new = (_of(each.resources, before.stacks & after.stacks) for each in (before, after))
    changed = changed_properties(old, new)
    effects = {
        (new[each]["Type"], path): effect_of(new[each], path) for each, paths in changed.items() for path in paths
    }
    effects |= {(kind, "another in its place"): REPLACED[kind] for kind in _supplanted(old, new)}
    worst = max(effects.values(), default=Effect.NOTHING)
    decisive = {each for each, effect in effects.items() if effect == worst and effect}
    moving = _coming_and_going(old, new)
    refusals = _refusals(old, new, changed, before.exported)
    losses = {COME_AND_GO[old[each]["Type"]] for each in old.keys() - new} - {""}
    return Finding(
        Effect.REFUSED if refusals else Effect.NEW_CLUSTER if any(map(_holds_nodes, gone)) else worst,
        tuple(sorted(decisive)),
        tuple(sorted((moving | {kind for kind, _ in effects}) - {kind for kind, _ in decisive})),
        (*sorted(refusals), *sorted(losses), *([_left(gone)] if gone else [])),
    )


def _coming_and_going(old: Resources, new: Resources) -> set[str]:
    kinds = {(old | new)[each]["Type"] for each in old.keys() ^ new.keys()}
    if unknown := kinds - COME_AND_GO.keys():
        raise UnclassifiedError(f"{', '.join(sorted(unknown))}: that one comes or goes is not classified")
    return kinds


def _supplanted(old: Resources, new: Resources) -> set[str]:
    """Types of which one environment goes and another comes: a replacement by a change of the logical id."""
    went, came = ({each[name]["Type"] for name in each.keys() - other} for each, other in ((old, new), (new, old)))
    return went & came & {"AWS::Batch::ComputeEnvironment"}


def _of(resources: Resources, stacks: frozenset[tuple[str, str]]) -> Resources:
    names = {name for name, _ in stacks}
    return {each: resource for each, resource in resources.items() if resource["stack"] in names}


def _holds_nodes(stack: tuple[str, str]) -> bool:
    """Whether nodes stand on the stack: they outlive that of their image."""
    return not stack[0].endswith("-image")


def _left(stacks: frozenset[tuple[str, str]]) -> str:
    own = [name for name, _ in sorted(stacks) if not name.endswith("-vpc")]
    shared = [f"`{name}` stays for the clusters that share it." for name, _ in sorted(stacks) if name not in own]
    names = " and ".join(f"`{name}`" for name in own)
    return " ".join([f"Left behind, for you to delete: {names}."] * bool(own) + shared)


# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html and
# https://docs.aws.amazon.com/batch/latest/userguide/blue-green-updates.html, checked 2026-11-21.
EXPORT_IN_USE = (
    "CloudFormation keeps what the network's stack exports while a cluster's stack uses it:"
    " delete the clusters and the network, and deploy again."
)
BEST_FIT_IN_PLACE = (
    "Batch does not update an environment with BEST_FIT in place: delete the cluster's stack and deploy again."
)


def _refusals(
    old: Resources, new: Resources, changed: Mapping[str, set[str]], exported: frozenset[str]
) -> frozenset[str]:
    refusals = set()
    for each, paths in changed.items():
        if any(effect_replaces(new[each], path) for path in paths):
            refusals |= {EXPORT_IN_USE} if each in exported else set()
        elif Effect.NEW_NODES in {effect_of(new[each], path) for path in paths}:
            strategy = old[each]["Properties"]["ComputeResources"]["AllocationStrategy"]
            refusals |= {BEST_FIT_IN_PLACE} if strategy == "BEST_FIT" else set()
    return frozenset(refusals)
