"""Whatever stands in a cluster file, it is either a cluster or refused with words that name the key."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mnp.cluster.cluster_file import load
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from mnp.cluster.problems import ClusterFileError

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
likely: dict[str, st.SearchStrategy[Any]] = {
    "name": st.just("good"),
    "region": st.sampled_from(["us-east-1", "eu-west-1"]),
    "availability_zone": st.sampled_from(["us-east-1a", "eu-west-1b"]),
    "instance_type": st.sampled_from(sorted(catalogue())),
    "max_nodes": st.integers(0, 1200),
    "capacity": st.sampled_from(["on_demand", "spot", {"capacity_block": "cr-0123456789abcdef0"}]),
    "network_interfaces": st.sampled_from(["shared", "separate", "efa"]),
    "vpc": st.builds(lambda prefix: {"cidr": f"10.0.0.0/{prefix}"}, st.integers(8, 30)),
    "placement_group": st.booleans(),
}


def load_text(text: str) -> Cluster | ClusterFileError:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.yaml")
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return load(file).cluster
        except ClusterFileError as error:
            return error


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional={key: value | anything for key, value in likely.items()}))
def test_a_file_is_a_cluster_or_is_refused_by_key(content: dict[str, Any]) -> None:
    """No combination of values crashes the reader, and each refusal names a key that the reader can find."""
    result = load_text(yaml.safe_dump(content))
    if isinstance(result, ClusterFileError):
        assert all(problem.message for problem in result.problems)
        keys = {problem.key.partition(".")[0] for problem in result.problems if problem.level == "error"}
        assert keys <= {*Cluster.model_fields, *content, ""}
        assert content == {} or keys - {""}


@settings(deadline=None)
@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_no_text_crashes_the_reader(text: str) -> None:
    """Any file at all is answered with a message."""
    assert isinstance(load_text(text), ClusterFileError)


@settings(deadline=None)
@given(st.sampled_from(["vpc", "capacity", "tags", "ssh_cidrs"]), anything)
def test_no_value_of_a_structured_key_crashes_the_reader(key: str, value: Any) -> None:
    """The keys that hold more than one value take any value without a crash."""
    good = {
        "name": "good",
        "region": "us-east-1",
        "availability_zone": "us-east-1a",
        "instance_type": "p5.48xlarge",
        "max_nodes": 4,
    }
    result = load_text(yaml.safe_dump(good | {key: value}))
    if isinstance(result, ClusterFileError):
        assert {problem.key.partition(".")[0] for problem in result.problems if problem.level == "error"} == {key}
