"""`mnp check` and `mnp schema`, by the real executable: no AWS is needed, and none is there."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.bad_files_table import FOLDER, all_bad_files
from tests.commands.command_line import CommandLine
from tests.synth import EXAMPLES, ROOT

P5 = str(ROOT / "examples" / "p5.yaml")


@pytest.fixture
def mnp(tmp_path: Path) -> CommandLine:
    """Somebody without credentials, region or network."""
    return CommandLine({"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)})


def test_every_bad_file_ends_with_2_and_its_message(mnp: CommandLine, tmp_path: Path) -> None:
    """Each mistake is answered on standard error, with exit code 2, and never with a traceback."""
    files = all_bad_files(tmp_path)
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda file: mnp("check", str(file)), files)
    for (file, expected), result in zip(files.items(), results, strict=True):
        assert (result.returncode, result.stdout) == (2, ""), file.name
        assert "Traceback" not in result.stderr
        for fragment in expected:
            assert fragment in result.stderr, f"{file.name}: {result.stderr}"


def test_a_good_file_is_answered_with_what_it_means(mnp: CommandLine) -> None:
    """Nodes, interfaces, addresses, quota and the dated price of a full hour stand on standard output."""
    result = mnp("check", P5)
    assert (result.returncode, result.stderr) == (0, "")
    for fragment in ("8 x p5.48xlarge", "32 EFA devices", "16 at full size", "L-417A185B", "$440.32", "2026-07-20"):
        assert fragment in result.stdout


def test_the_plan_is_there_as_json(mnp: CommandLine) -> None:
    """With --json standard output is one document, for scripts."""
    document = json.loads(mnp("check", P5, "--json").stdout)
    assert document["cluster"]["name"] == "p5-training"
    assert document["plan"]["usd_per_hour"] == 440.32
    assert document["plan"]["node"]["efa_devices"] == 32


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
