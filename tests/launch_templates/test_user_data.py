from __future__ import annotations

import email
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch_templates.user_data import BOOTHOOKS, MOST_BYTES, script, user_data

SHELLCHECK = str(Path(sys.executable).with_name("shellcheck"))
AMAZON_LINUX_OPTIONS = 'DAEMON_MAXFILES=1048576\nOPTIONS="--default-ulimit nofile=32768:65536"\n'


def run(name: str, **environment: str) -> str:
    """Run a boot script twice, as two boots of one instance do, and return what it printed."""
    command = ["bash", "-c", script(name)]
    for _ in range(2):
        result = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
        assert result.stderr == ""
    return result.stdout


def test_user_data_is_mime_multipart_of_the_files_as_they_are() -> None:
    """Batch takes nothing but MIME multipart, and every part is a file that can be read and linted."""
    document = email.message_from_string(user_data())
    assert document.get_content_type() == "multipart/mixed"
    parts = [part for part in document.walk() if not part.is_multipart()]
    assert [part.get_filename() for part in parts] == list(BOOTHOOKS)
    for part in parts:
        assert part.get_content_type() == "text/cloud-boothook"
        assert part.get_payload() == script(str(part.get_filename()))


def test_an_empty_line_stands_before_every_boundary() -> None:
    """Batch merges the document with its own line by line, and asks for this."""
    lines = user_data().splitlines()
    boundaries = [index for index, line in enumerate(lines) if line.startswith("--==mnp")]
    assert len(boundaries) == len(BOOTHOOKS) + 1
    assert all(lines[index - 1] == "" for index in boundaries)


def test_equal_files_make_an_equal_document() -> None:
    """A synth without a change makes no new launch-template version."""
    assert user_data() == user_data()


def test_user_data_fits_into_what_ec2_takes() -> None:
    """EC2 refuses more than 16 KB before base64."""
    assert len(user_data().encode()) <= MOST_BYTES


@pytest.mark.parametrize("name", BOOTHOOKS)
def test_boot_scripts_pass_shellcheck(name: str) -> None:
    """A quoting mistake on a node costs a cluster's hour; shellcheck finds it here."""
    result = subprocess.run(
        [SHELLCHECK, "--shell=bash", "-"], input=script(name), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


def test_memlock_joins_the_options_that_amazon_linux_has(tmp_path: Path) -> None:
    """Containers may lock memory without limit, and the limit on open files that was there stays."""
    file = tmp_path / "docker"
    file.write_text(AMAZON_LINUX_OPTIONS)
    run("docker-limits.sh", DOCKER_OPTIONS_FILE=str(file))
    expected = 'OPTIONS="--default-ulimit nofile=32768:65536 --default-ulimit memlock=-1:-1"'
    assert file.read_text().splitlines() == ["DAEMON_MAXFILES=1048576", expected]


@pytest.mark.parametrize("before", [None, "", "# nothing\n"])
def test_memlock_is_set_where_there_are_no_options_yet(tmp_path: Path, before: str | None) -> None:
    """An image without the file, or without the line, gets it."""
    file = tmp_path / "docker"
    if before is not None:
        file.write_text(before)
    run("docker-limits.sh", DOCKER_OPTIONS_FILE=str(file))
    assert file.read_text().splitlines()[-1] == 'OPTIONS="--default-ulimit memlock=-1:-1"'


def test_ecs_settings_are_written_once_beside_those_of_batch(tmp_path: Path) -> None:
    """Batch's own lines stay, ours come once, and what somebody set on purpose is left alone."""
    file = tmp_path / "ecs" / "ecs.config"
    file.parent.mkdir()
    file.write_text("ECS_CLUSTER=batch\nECS_IMAGE_PULL_BEHAVIOR=always\n")
    run("ecs-agent.sh", ECS_CONFIG_FILE=str(file))
    assert file.read_text().splitlines() == [
        "ECS_CLUSTER=batch",
        "ECS_IMAGE_PULL_BEHAVIOR=always",
        "ECS_AWSVPC_BLOCK_IMDS=true",
    ]
