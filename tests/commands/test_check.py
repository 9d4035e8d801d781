"""`mnp check` and `mnp schema`, by the real executable: no AWS is needed, and none is there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from mnp.commands.main import main
from tests.bad_files_table import FOLDER, all_bad_files
from tests.commands.command_line import CommandLine
from tests.synth import EXAMPLES, ROOT

P5 = str(ROOT / "examples" / "p5.yaml")


@pytest.fixture
def mnp(tmp_path: Path) -> CommandLine:
    """Somebody without credentials, region or network."""
    return CommandLine({"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)})


def test_every_bad_file_ends_with_2_and_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each mistake is answered on standard error, with exit code 2."""
    for file, expected in all_bad_files(tmp_path).items():
        monkeypatch.setattr(sys, "argv", ["mnp", "check", str(file)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, ""), file.name
        for fragment in expected:
            assert fragment in said.err, f"{file.name}: {said.err}"


def test_a_bad_file_leaves_no_traceback(mnp: CommandLine) -> None:
    """The executable says what is wrong, and nothing of how it found out."""
    result = mnp("check", str(FOLDER / "many-mistakes.yaml"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    assert result.stderr.count("error:") > 1


def test_a_good_file_is_answered_with_what_it_means(mnp: CommandLine) -> None:
    """Nodes, interfaces, addresses, quota and the dated price of a full hour stand on standard output."""
    result = mnp("check", P5)
    assert (result.returncode, result.stderr) == (0, "")
    for fragment in ("8 x p5.48xlarge", "32 EFA devices", "16 at full size", "L-417A185B", "$440.32", "2026-07-20"):
        assert fragment in result.stdout


def test_a_large_p5_cluster_is_told_what_it_takes_and_what_changes_do(mnp: CommandLine, tmp_path: Path) -> None:
    """Addresses, subnet, vCPU quota with its code, hourly price, and what a change of each key does."""
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(Path(P5).read_text()) | {"max_nodes": 64}))
    result = mnp("check", str(file))
    assert (result.returncode, result.stderr) == (0, "")
    lines = {label: text for label, _, text in (line.partition(":") for line in result.stdout.splitlines())}
    for label, fragments in {
        "network": ["nodes in 10.0.0.0/17 (32763 addresses", "2 addresses a node, 128 at full size"],
        "capacity": ["12288 vCPUs at full size, EC2 quota L-417A185B"],
        "cost": ["$3,522.56 per hour at full size"],
    }.items():
        assert all(fragment in lines[label] for fragment in fragments), lines[label]
    changes = {line.strip().partition(":")[0]: line for line in result.stdout.partition("changes:")[2].splitlines()}
    for effect, some in {
        "nothing that runs": ["max_nodes", "max_queue_hours"],
        "new nodes": ["instance_type", "capacity (to reservations_only or reservation)", "ami"],
        "a new compute environment": ["capacity (to capacity_block)"],
        "a new network or a new cluster": ["name", "region", "vpc"],
        "refused": ["availability_zone", "vpc.cidr"],
    }.items():
        assert set(some) <= set(changes[effect].partition(":")[2].strip().split(", ")), changes[effect]
    assert "delete: mnp-p5-training and mnp-p5-training-network." in changes["name, region"]


def test_the_changes_of_a_terminal_are_wrapped_and_of_a_pipe_are_not(mnp: CommandLine) -> None:
    """A list of keys stays in its column on a terminal; a pipe gets a line for each effect, to be searched."""

    def widths(**environ: str) -> list[int]:
        return [len(line) for line in mnp("check", P5, **environ).stdout.partition("changes:")[2].splitlines()]

    assert max(widths(FORCE_COLOR="1", COLUMNS="80")) <= 80
    assert max(widths(COLUMNS="80")) > 120


def test_a_shared_vpc_is_told_with_its_zones_and_the_subnet_of_this_one(mnp: CommandLine) -> None:
    """The reader sees which VPC it is, who else may stand in it, and which stack makes it."""
    result = mnp("check", str(ROOT / "examples" / "shared-vpc-training.yaml"))
    for fragment in (
        "shared VPC ml-platform, 10.40.0.0/16 in us-east-1a, us-east-1c",
        "nodes in 10.40.32.0/20 (4091 addresses for all clusters of the zone)",
        "mnp-ml-platform-us-east-1-vpc, mnp-llm-training",
    ):
        assert fragment in result.stdout


def test_the_image_of_the_nodes_and_its_stack_are_named(mnp: CommandLine) -> None:
    """A prebaked image is a third stack, and the first deploy bakes it: the reader learns of both beforehand."""
    result = mnp("check", str(ROOT / "examples" / "prebaked.yaml"))
    assert "mnp-b200-prebaked-network, mnp-b200-prebaked-image, mnp-b200-prebaked" in result.stdout
    assert "prebaked: AWS's ECS image with the EFA driver" in result.stdout
    assert "/imagebuilder/mnp/b200-prebaked" in result.stdout


def test_the_plan_is_there_as_json(mnp: CommandLine) -> None:
    """With --json standard output is one document, for scripts."""
    document = json.loads(mnp("check", P5, "--json").stdout)
    assert document["cluster"]["name"] == "p5-training"
    assert document["plan"]["usd_per_hour"] == 440.32
    assert document["plan"]["node"]["efa_devices"] == 32
    changes = {change["key"]: each["effect"] for each in document["changes"] for change in each["changes"]}
    assert changes["instance_type"] == "new_nodes"
    assert changes["vpc.cidr"] == "refused"


def test_mistakes_are_there_as_json(mnp: CommandLine) -> None:
    """A script gets the same mistakes, field by field, and the same exit code."""
    result = mnp("check", str(FOLDER / "many-mistakes.yaml"), "--json")
    problems = json.loads(result.stdout)["problems"]
    assert result.returncode == 2
    assert {problem["key"] for problem in problems} >= {"name", "max_nodes", "availability_zone", "ssh_cidrs"}


def test_a_warning_is_shown_and_stops_nothing(mnp: CommandLine, tmp_path: Path) -> None:
    """What may be wrong is said beside the plan, on standard error."""
    file = tmp_path / "cluster.yaml"
    file.write_text(Path(P5).read_text().replace("us-east-1", "eu-west-3"))
    result = mnp("check", str(file))
    assert result.returncode == 0
    assert "warning: availability_zone" in result.stderr


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    result = CommandLine({"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)})("schema")
    assert (result.returncode, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_schema_accepts_every_example(schema: dict[str, Any], file: Path) -> None:
    """An editor that knows the schema marks nothing in what we show people to copy."""
    jsonschema.validate(yaml.safe_load(file.read_text()), schema)


@pytest.mark.parametrize("name", ["typo-in-key", "missing-keys", "wrong-type-number", "too-many-nodes", "type-typo"])
def test_the_schema_refuses_what_an_editor_can_see(schema: dict[str, Any], name: str) -> None:
    """Unknown and missing keys, wrong types, ranges and instance types are marked while typing."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text()), schema)
