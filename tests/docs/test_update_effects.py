"""What a change does is judged from small templates here; the rows of page and data from those of whole clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from mnp.cluster.model import Cluster
from tests.synth import P5
from tools.update_effects import Effect, Finding, Templates, UnclassifiedError, judge, synthesise
from tools.write_update_effects import (
    CHANGES,
    DATA,
    PAGE,
    Change,
    data,
    keys,
    may_be_deployed,
    models,
    page,
)

pytestmark = pytest.mark.slow

STACK = ("cluster", "us-east-1")


def test_every_key_of_the_cluster_file_has_a_row() -> None:
    """A key that is added to the model, or taken from it, is added to the page, or taken from it."""
    rows = {change.key for change in CHANGES}
    missing, unknown = set(keys()) - rows, rows - set(keys())
    assert not missing, f"no pair of cluster files in CHANGES of tools/write_update_effects.py for {sorted(missing)}"
    assert not unknown, f"CHANGES of tools/write_update_effects.py has pairs for no key: {sorted(unknown)}"


@pytest.mark.parametrize("capacity", ["", " in a CapacityBlock"])
@pytest.mark.parametrize("vpc", [*models(Cluster.model_fields["vpc"].annotation)], ids=lambda vpc: vpc.__name__)
def test_every_key_has_an_effect_on_every_kind_of_cluster(vpc: type[BaseModel], capacity: str) -> None:
    """Whichever VPC and capacity a file has, `mnp check` can tell what a change of each of its keys does."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))["changes"]
    judged = {row["key"] for row in rows if f"{vpc.__name__}{capacity}" in row["situations"]}
    missing = {*Cluster.model_fields, *(f"vpc.{name}" for name in vpc.model_fields)} - judged
    assert not missing, f"VPCS and CHANGES of tools/write_update_effects.py have no pair for {sorted(missing)}"


def test_page_and_data_are_what_the_templates_say() -> None:
    """Each row is derived anew from two synthesised clusters."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tools/write_update_effects.py"
    assert DATA.read_text(encoding="utf-8") == data(), "run: python tools/write_update_effects.py"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.key)
def test_a_pair_differs_in_its_key_alone(change: Change) -> None:
    """No row owes its effect to another key than the one that it names."""
    before, after = (_flat(values) for values in (change.before, change.after))
    named = (change.key, *change.along)
    differing = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    assert differing
    assert all(any(key == name or key.startswith(f"{name}.") for name in named) for key in differing), differing


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.key)
def test_both_files_of_a_pair_could_be_deployed(change: Change) -> None:
    """The examples of the page pass the rules of `mnp check`."""
    assert may_be_deployed(change.before)
    assert may_be_deployed(change.after)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The file's values by dotted key, with alternatives that are one word beside their nested ones."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and name != "tags":
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def templates(*exported: str, **resources: tuple[str, dict[str, Any]]) -> Templates:
    """One stack of these resources: logical id, and type with properties."""
    by_id = {name: {"stack": STACK[0], "Type": kind, "Properties": each} for name, (kind, each) in resources.items()}
    return Templates(frozenset({STACK}), by_id, frozenset(exported))


def environment(**properties: Any) -> tuple[str, dict[str, Any]]:
    settings = {"AllocationStrategy": "BEST_FIT_PROGRESSIVE", **properties.pop("settings", {})}
    return "AWS::Batch::ComputeEnvironment", {
        "ReplaceComputeEnvironment": False,
        "ComputeResources": settings,
        **properties,
    }


def with_launch_template(gib: int, **properties: Any) -> Templates:
    """An environment whose launch template is named by its latest version."""
    version = {"Version": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]}}
    return templates(
        Template=("AWS::EC2::LaunchTemplate", {"LaunchTemplateData": {"VolumeSize": gib}}),
        Environment=environment(**properties, settings={"LaunchTemplate": version}),
    )


def test_a_property_that_nobody_classified_is_an_error() -> None:
    """A change of which the tables say nothing gets no guess, and the error names type and property."""
    before = templates(Queue=("AWS::Batch::JobQueue", {"Priority": 1}))
    after = templates(Queue=("AWS::Batch::JobQueue", {"Priority": 2}))
    with pytest.raises(UnclassifiedError, match=r"AWS::Batch::JobQueue: a change of Priority"):
        judge(before, after)


def test_the_replacement_of_a_type_that_nobody_classified_is_an_error() -> None:
    """A name of its own is what CloudFormation cannot change; what that does to a cluster must be said by someone."""
    before = templates(Queue=("AWS::Batch::JobQueue", {"JobQueueName": "a"}))
    after = templates(Queue=("AWS::Batch::JobQueue", {"JobQueueName": "b"}))
    with pytest.raises(UnclassifiedError, match=r"AWS::Batch::JobQueue: a change of JobQueueName"):
        judge(before, after)


def test_a_resource_whose_coming_nobody_classified_is_an_error() -> None:
    """A new kind of resource in the stacks is judged by a person first."""
    with pytest.raises(UnclassifiedError, match=r"AWS::S3::Bucket"):
        judge(templates(), templates(Bucket=("AWS::S3::Bucket", {})))


def test_a_new_version_of_the_launch_template_reaches_the_environment() -> None:
    """What changes by reference is a change too: the template has new nodes for its effect."""
    assert judge(with_launch_template(300), with_launch_template(500)) == Finding(
        Effect.NEW_NODES,
        (("AWS::Batch::ComputeEnvironment", "ComputeResources/LaunchTemplate"),),
        ("AWS::EC2::LaunchTemplate",),
    )


def test_an_environment_that_must_be_replaced_is() -> None:
    """With ReplaceComputeEnvironment, new nodes mean a new environment."""
    before, after = (with_launch_template(gib, ReplaceComputeEnvironment=True) for gib in (300, 500))
    assert judge(before, after).effect == Effect.NEW_ENVIRONMENT


def test_a_property_that_cannot_be_updated_replaces_the_environment() -> None:
    """CloudFormation's own list of such properties counts, whatever ReplaceComputeEnvironment says."""
    before, after = (templates(Environment=environment(Tags={"team": team})) for team in "ab")
    assert judge(before, after).effect == Effect.NEW_ENVIRONMENT


def test_an_update_in_place_of_an_environment_with_best_fit_is_refused() -> None:
    """Batch updates no such environment in place, and the row says so."""
    before = templates(Environment=environment(settings={"AllocationStrategy": "BEST_FIT"}))
    assert judge(before, templates(Environment=environment())).effect == Effect.REFUSED


def test_an_environment_under_another_id_is_a_new_environment() -> None:
    """One that goes while another comes is a replacement, as if CloudFormation had made it."""
    before, after = templates(Environment=environment()), templates(BlockEnvironment=environment())
    assert judge(before, after).effect == Effect.NEW_ENVIRONMENT


@pytest.mark.parametrize(("exported", "effect"), [(["Vpc"], Effect.REFUSED), ([], Effect.NEW_CLUSTER)])
def test_what_another_stack_uses_cannot_be_replaced(exported: list[str], effect: Effect) -> None:
    """CloudFormation changes no export that is in use; without one, the network is made anew."""
    before, after = (templates(*exported, Vpc=("AWS::EC2::VPC", {"CidrBlock": cidr})) for cidr in ("a", "b"))
    assert judge(before, after).effect == effect


PULLED = {"ami": {"prebaked": {"pull_image": True}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [(PULLED, PULLED | {"image": "team/train:1.2"}), ({"ami": "prebaked"}, {})],
    ids=["another container image", "no image of its own"],
)
def test_what_goes_into_a_prebaked_image_means_new_nodes(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The environment follows the image by the parameter, and the end of the image's stack alone ends no cluster."""
    old, new = (synthesise(Cluster.model_validate(P5 | changes)) for changes in (before, after))
    found = judge(old, new)
    assert found.effect == Effect.NEW_NODES
    assert ("Left behind, for you to delete: `mnp-test-image`." in found.notes) == (not after)
