from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest

import app as cdk_app
from tests.bad_files_table import FOLDER, all_bad_files
from tests.deployment.deployment import copy_of_example
from tests.synth import ROOT, feature_flags, new_app

P5 = str(ROOT / "examples" / "p5.yaml")
CDK = str(ROOT / "node_modules" / ".bin" / "cdk")


def environment() -> dict[str, str]:
    """No credentials and no region: synth must not miss them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def test_every_bad_file_is_refused_before_anything_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`cdk synth` says the same as `mnp check`, ends with 2, and leaves no assembly behind."""
    for file, expected in all_bad_files(tmp_path).items():
        app = cdk.App(context={"cluster": str(file)}, outdir=str(tmp_path / "cdk.out"))
        assert cdk_app.run(app) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        for fragment in expected:
            assert fragment in captured.err
    assert not list((tmp_path / "cdk.out").glob("*.template.json"))


@pytest.mark.end_to_end
def test_the_cdk_cli_shows_the_message_alone(tmp_path: Path) -> None:
    """Through the real CLI a bad file ends in our message: no traceback of Python, none of jsii."""
    command = [
        CDK,
        "synth",
        "-c",
        f"cluster={FOLDER / 'many-mistakes.yaml'}",
        "-o",
        str(tmp_path),
        "--app",
        f"{sys.executable} app.py",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment())
    assert result.returncode != 0
    assert "5 mistakes; nothing was done." in result.stderr
    assert "Subprocess exited with error 2" in result.stderr
    assert "Traceback" not in result.stderr
    assert "jsii" not in result.stderr


@pytest.mark.end_to_end
def test_synth_needs_no_account_no_credentials_and_no_network(tmp_path: Path) -> None:
    """`cdk synth` of several files makes the stacks of all, with nothing of AWS at hand."""
    files = f"{P5},{ROOT / 'examples' / 'demo.yaml'}"
    command = [
        CDK,
        "synth",
        "-q",
        "--strict",
        "-c",
        f"cluster={files}",
        "-o",
        str(tmp_path),
        "--app",
        f"{sys.executable} app.py",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment())
    assert result.returncode == 0, result.stderr
    made = {file.name.removesuffix(".template.json") for file in tmp_path.glob("*.template.json")}
    assert made == {"mnp-p5-training", "mnp-p5-training-network", "mnp-demo", "mnp-demo-network"}


def test_two_clusters_of_one_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Two files that would make the same stacks are a mistake, not an accident to find out at deploy."""
    assert cdk_app.run(new_app(cluster=f"{P5},{P5}")) == 2
    assert "both would make the same stacks" in capsys.readouterr().err


def test_files_that_describe_a_shared_vpc_otherwise_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is right by itself, and both together are a mistake that names both files."""
    one, other = (copy_of_example(f"shared-vpc-{name}.yaml", tmp_path) for name in ("training", "research"))
    other.write_text(other.read_text().replace("10.40.0.0/16", "10.41.0.0/16"))
    assert cdk_app.run(new_app(cluster=f"{one},{other}")) == 2
    message = capsys.readouterr().err
    assert f"{other}: error: vpc.cidr: differs from {one}" in message


def test_feature_flags_of_tests_are_those_of_production() -> None:
    """The flags come from cdk.json, and with them the choices that the design relies on."""
    flags = feature_flags()
    assert flags["@aws-cdk/core:defaultCrossStackReferences"] == "strong"
    assert flags["@aws-cdk/core:validateAgainstDefaultRules"] is True
