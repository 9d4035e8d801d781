from __future__ import annotations

import email
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch_templates import user_data as module
from launch_templates.user_data import MOST_BYTES, boothooks, user_data
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from tests.synth import P5

SHELLCHECK = str(Path(sys.executable).with_name("shellcheck"))
PLAIN = Cluster.model_validate(P5)
EVERYTHING = Cluster.model_validate(P5 | {"scratch": True, "efa_installer": True})
# Every file of boot/, as the one cluster with everything in it sends it.
ALL = boothooks(EVERYTHING)
AMAZON_LINUX_OPTIONS = 'DAEMON_MAXFILES=1048576\nOPTIONS="--default-ulimit nofile=32768:65536"\n'


def run(name: str, **environment: str) -> str:
    """Run a boot script twice, as two boots of one instance do, and return what it printed."""
    command = ["bash", "-c", ALL[name]]
    for _ in range(2):
        result = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
        assert result.stderr == ""
    return result.stdout


@pytest.mark.parametrize("cluster", [PLAIN, EVERYTHING], ids=["plain", "everything"])
def test_user_data_is_mime_multipart_of_boothooks(cluster: Cluster) -> None:
    """Batch takes nothing but MIME multipart; every part runs at every boot, and is a file that can be linted."""
    document = email.message_from_string(user_data(cluster))
    assert document.get_content_type() == "multipart/mixed"
    parts = [part for part in document.walk() if not part.is_multipart()]
    assert {part.get_filename(): part.get_payload() for part in parts} == boothooks(cluster)
    for part in parts:
        assert part.get_content_type() == "text/cloud-boothook"
        assert part.get_content_charset() == "us-ascii"
        assert str(part.get_payload()).startswith("#!/bin/bash\n")


def test_every_file_of_the_folder_is_sent() -> None:
    """No script is forgotten, and each is sent as it is, but for the one that has the cluster's values in it."""
    files = {file.name: file.read_text() for file in (Path(module.__file__).parent / "boot").iterdir()}
    assert ALL.keys() == files.keys()
    assert {name for name in ALL if ALL[name] != files[name]} == {"node-env.sh"}


def test_parts_depend_on_the_cluster() -> None:
    """Nothing touches a disk or a driver unless the file asks for it; what others call or read comes before them."""
    always = ["node-env.sh", "agent-step.sh", "docker-limits.sh", "ecs-agent.sh", "kernel.sh"]
    assert list(boothooks(PLAIN)) == [*always, "efa-ready.sh"]
    assert list(boothooks(EVERYTHING)) == [*always, "efa-installer.sh", "efa-ready.sh", "scratch.sh"]


def test_an_empty_line_stands_before_every_boundary() -> None:
    """Batch merges the document with its own line by line, and asks for this."""
    lines = user_data(EVERYTHING).splitlines()
    boundaries = [index for index, line in enumerate(lines) if line.startswith("--==mnp")]
    assert len(boundaries) == len(ALL) + 1
    assert all(lines[index - 1] == "" for index in boundaries)


def test_equal_clusters_make_an_equal_document() -> None:
    """A synth without a change makes no new launch-template version."""
    assert user_data(PLAIN) == user_data(Cluster.model_validate(P5))


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_user_data_fits_into_what_ec2_takes(name: str) -> None:
    """EC2 refuses more than 16 KB before base64; this is the largest document there is, that with every part."""
    text = user_data(EVERYTHING.model_copy(update={"instance_type": name}))
    assert text.isascii()
    assert len(text) <= MOST_BYTES


def test_too_large_a_document_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At synth, and not by EC2 at the first launch."""
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="EC2 takes 1000"):
        user_data(PLAIN)


@pytest.mark.parametrize("name", sorted(ALL))
def test_boot_scripts_pass_shellcheck(name: str) -> None:
    """A quoting mistake on a node costs a cluster's hour; shellcheck finds it here."""
    result = subprocess.run(
        [SHELLCHECK, "--shell=bash", "-"], input=ALL[name], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("instance_type", "layout", "devices"),
    [("p5.48xlarge", "shared", 32), ("p6-b300.48xlarge", "shared", 16), ("g6.8xlarge", "efa", 1)],
)
def test_the_node_is_told_how_many_efa_devices_it_should_have(
    tmp_path: Path, instance_type: str, layout: str, devices: int
) -> None:
    """As many as the launch template attaches, which is not the number of network cards."""
    cluster = Cluster.model_validate(P5 | {"instance_type": instance_type, "network_interfaces": layout})
    file = tmp_path / "mnp" / "node.env"
    for _ in range(2):
        environment = os.environ | {"MNP_NODE_ENV": str(file)}
        subprocess.run(["bash", "-c", boothooks(cluster)["node-env.sh"]], env=environment, check=True)
        assert file.read_text() == f"MNP_EFA_DEVICES={devices}\n"


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
