"""Differences of the catalogue; --live is asked of moto, whose EC2 answers from the capture behind the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from tools import refresh_instance_types as refresh
from tools.instance_type_differences import differences

LIVE = ["--live", "--check", "--region", "us-east-1", "--no-prices"]


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the file, which the tool takes for the file."""
    copy = tmp_path / refresh.TARGET.name
    copy.write_text(refresh.TARGET.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(refresh, "TARGET", copy)
    return copy


def change(target: Path, **facts: Any) -> None:
    """Give p5.48xlarge these facts."""
    content = json.loads(target.read_text(encoding="utf-8"))
    content["instance_types"]["p5.48xlarge"] |= facts
    target.write_text(refresh.rendered(content), encoding="utf-8")


def test_ec2_says_the_same_as_the_capture(ec2: None, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The calls of --live, with filter and pages, give the facts and zones that stand in the file."""
    assert refresh.main(LIVE) == 0
    assert capsys.readouterr().err == ""


def test_a_fact_that_ec2_tells_otherwise_is_a_line(ec2: None, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Drift is named by type and fact, the file's value first, and the file is left alone."""
    change(target, vcpus=190)
    before = target.read_text(encoding="utf-8")
    assert refresh.main(LIVE) == 1
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "p5.48xlarge: vcpus: 190 -> 192"
    assert others == ["instance_types.json is out of date"]
    assert target.read_text(encoding="utf-8") == before


def test_the_capture_is_compared_in_the_same_way(target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --live too, whoever edited the file by hand reads what he changed."""
    change(target, maximum_efa_interfaces=31)
    assert refresh.main(["--check"]) == 1
    assert "p5.48xlarge: maximum_efa_interfaces: 31 -> 32\n" in capsys.readouterr().err


def test_an_edit_that_changes_no_fact_is_found_too(target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is what its script writes, to the letter."""
    target.write_text(target.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert refresh.main(["--check"]) == 1
    assert "layout" in capsys.readouterr().err


def test_prices_that_cannot_be_asked_say_what_is_missing(
    ec2: None, target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Old prices are never passed for new ones: the tool names the permission and the way to keep the old."""
    monkeypatch.setattr(refresh, "live", lambda _regions: refresh.captured())
    assert refresh.main(["--live"]) == 2
    said = capsys.readouterr().err
    assert "it needs pricing:GetProducts" in said
    assert "--no-prices" in said


def test_without_a_region_the_account_is_asked_for_its_own(ec2: None) -> None:
    """The regions of an account are those that it has enabled."""
    assert {"us-east-1", "eu-north-1"} <= set(refresh.enabled_regions())


def test_options_of_live_alone_are_no_use_without_it() -> None:
    """Nobody takes a comparison with the capture for one with AWS."""
    with pytest.raises(SystemExit):
        refresh.main(["--check", "--region", "us-east-1"])


ENTRY = {"vcpus": 192, "accelerator": {"count": 8}, "availability_zones": {"us-east-1": ["us-east-1a", "us-east-1b"]}}


@pytest.mark.parametrize(
    ("present", "found", "lines"),
    [
        ({}, {"p9.large": ENTRY}, ["p9.large: new"]),
        ({"p5.48xlarge": ENTRY}, {}, ["p5.48xlarge: gone"]),
        (
            {"p5.48xlarge": ENTRY},
            {"p5.48xlarge": ENTRY | {"accelerator": {"count": 4}}},
            ["p5.48xlarge: accelerator.count: 8 -> 4"],
        ),
        (
            {"p5.48xlarge": ENTRY},
            {"p5.48xlarge": ENTRY | {"availability_zones": {"us-east-1": ["us-east-1b", "us-east-1c"]}}},
            ["p5.48xlarge: zones in us-east-1: +us-east-1c -us-east-1a"],
        ),
        ({"p5.48xlarge": ENTRY}, {"p5.48xlarge": ENTRY}, []),
    ],
)
def test_each_difference_is_a_line(present: Any, found: Any, lines: list[str]) -> None:
    """Types, facts and zones each have a form that can be read and searched."""
    assert [*differences(present, found)] == lines


def test_regions_that_were_not_asked_keep_their_zones() -> None:
    """One region's answer takes nothing from another, nor a type that is sold there alone; in its own it does."""
    both = {"us-east-1": ["us-east-1a"], "us-west-2": ["us-west-2b"]}
    present = {
        "sold-in-both": {"vcpus": 1, "availability_zones": both},
        "sold-elsewhere": {"vcpus": 1, "availability_zones": {"us-west-2": ["us-west-2b"]}},
        "gone": {"vcpus": 1, "availability_zones": {"us-east-1": ["us-east-1a"]}},
    }
    answer = {"sold-in-both": {"vcpus": 2, "availability_zones": {}}}
    assert refresh.with_unasked(answer, present, {"us-east-1"}) == {
        "sold-elsewhere": present["sold-elsewhere"],
        "sold-in-both": {"vcpus": 2, "availability_zones": {"us-west-2": ["us-west-2b"]}},
    }
