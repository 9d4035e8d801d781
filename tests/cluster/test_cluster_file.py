from __future__ import annotations

import re
from pathlib import Path

import pytest

from mnp.cluster.cluster_file import load
from mnp.cluster.problems import ClusterFileError
from tests.bad_files_table import FOLDER, all_bad_files
from tests.synth import EXAMPLES, ROOT

GOOD = """\
name: good
region: us-east-1
availability_zone: us-east-1a
instance_type: p5.48xlarge
max_nodes: 4
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "cluster.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_is_right(file: Path) -> None:
    """What we show people to copy is accepted without a mistake."""
    assert load(file).cluster.name


def test_five_keys_make_a_complete_file(tmp_path: Path) -> None:
    """Everything but the five required keys has a default."""
    cluster = load(write(tmp_path, GOOD)).cluster
    assert cluster.capacity == "on_demand"
    assert cluster.network_interfaces == "shared"
    assert cluster.uses_placement_group
    assert cluster.ssh_cidrs == ()


def test_every_bad_file_is_refused_with_its_message(tmp_path: Path) -> None:
    """Each mistake is named: key, value got, what is allowed, why, and how to mend it."""
    files = all_bad_files(tmp_path)
    assert len(files) >= 25
    for file, expected in files.items():
        with pytest.raises(ClusterFileError) as error:
            load(file)
        message = str(error.value)
        assert expected, f"{file.name} expects nothing"
        for fragment in expected:
            assert fragment in message, f"{file.name}: {fragment!r} not in:\n{message}"
        assert "Traceback" not in message
        assert "pydantic" not in message


def test_every_mistake_in_a_readable_file_has_its_line(tmp_path: Path) -> None:
    """The reader is taken to the line; only a key that the file lacks has none."""
    for file in sorted(FOLDER.glob("*.yaml")):
        keys = re.findall(r"^[a-z_]+(?=:)", file.read_text(encoding="utf-8"), re.MULTILINE)
        with pytest.raises(ClusterFileError) as error:
            load(file)
        for problem in error.value.problems:
            if problem.key.partition(".")[0] in keys:
                assert problem.line is not None, (file.name, problem)


def test_lines_are_those_of_the_keys(tmp_path: Path) -> None:
    """A line number points at the key, also inside a mapping."""
    file = write(tmp_path, GOOD + "vpc:\n  nat_gateway: true\n  cidr: banana\n")
    with pytest.raises(ClusterFileError) as error:
        load(file)
    assert re.search(r"cluster\.yaml:8: error: vpc\.cidr: ", str(error.value))


def test_a_wrong_key_does_not_hide_a_broken_rule(tmp_path: Path) -> None:
    """Rules are asked as far as the keys that they need are right: all mistakes come at once."""
    file = write(tmp_path, GOOD.replace("max_nodes: 4", "max_nodes: four") + "network_interfaces: separate\n")
    with pytest.raises(ClusterFileError) as error:
        load(file)
    keys = {problem.key for problem in error.value.problems}
    assert keys == {"max_nodes", "network_interfaces"}


def test_a_zone_that_is_not_known_to_offer_the_type_is_a_warning(tmp_path: Path) -> None:
    """Our list of offerings may be old, so it never stands in the way."""
    text = GOOD.replace("us-east-1a", "eu-west-2a").replace("us-east-1", "eu-west-2")
    loaded = load(write(tmp_path, text.replace("p5.48xlarge", "p6-b200.48xlarge")))
    assert [problem.key for problem in loaded.warnings] == ["availability_zone"]
    assert "us-east-1" in str(loaded.warnings[0].reason)


def test_ssh_open_to_the_world_is_allowed_when_stated_and_warned_about(tmp_path: Path) -> None:
    """Loosening is explicit in the file, and the file's reader is told."""
    loaded = load(write(tmp_path, GOOD + "ssh_cidrs: [0.0.0.0/0]\nssh_open_to_world: true\n"))
    assert [problem.key for problem in loaded.warnings] == ["ssh_cidrs"]


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """Editors on other systems put one at the head of a file."""
    file = tmp_path / "cluster.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load(file).cluster.name == "good"


def test_the_message_for_a_missing_file_says_how_to_get_one() -> None:
    """The first thing a newcomer sees without cluster.yaml is what to do."""
    with pytest.raises(ClusterFileError, match=r"examples/p5\.yaml"):
        load(ROOT / "no-such-file.yaml")
