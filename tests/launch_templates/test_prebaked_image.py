from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from launch_templates import prebaked_image
from launch_templates.prebaked_image import (
    FOLDER,
    component_document,
    efa_installer_version,
    file_text,
    recipe,
    version_of,
)
from mnp.cluster.model import Cluster
from tests.launch_templates.stand_ins import StandIns
from tests.synth import P5

PULLED = {"ami": {"prebaked": {"pull_image": True}}}
PRIVATE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/train:1.2"
VERSION = efa_installer_version()


def cluster(**changes: Any) -> Cluster:
    return Cluster.model_validate(P5 | {"ami": "prebaked"} | changes)


class Host:
    """A build host that runs a component's phases as Image Builder's component manager does."""

    def __init__(self, folder: Path, of: Cluster, *, not_installed: tuple[str, ...] = ()) -> None:
        self.folder, self.stand_ins = folder, StandIns(folder, not_installed=not_installed)
        self.packages = folder / "efa_installed_packages"
        self.ecs = folder / "ecs"
        self.ecs.mkdir()
        (self.ecs / "agent.db").write_text("of the build host")
        (folder / "tmp").mkdir()
        self.document = yaml.safe_load(component_document(of))

    def installed(self, *, installer: str = VERSION, package: str = "3.3.1", module: str = "3.3.1g") -> None:
        """Leaves what the EFA installer leaves."""
        self.packages.write_text(f"# EFA installer version: {installer}\n# Debug packages installed: no\n")
        (self.stand_ins.state / "package").write_text(package)
        (self.stand_ins.state / "module").write_text(module)

    def run(self, phase: str) -> subprocess.CompletedProcess[str]:
        """Runs the steps up to the first that fails. The EFA installer, which has tests of its own, only says so."""
        (steps,) = [each["steps"] for each in self.document["phases"] if each["name"] == phase]
        for step in steps:
            if step["action"] == "CreateFile":
                for file in step["inputs"]:
                    self._create(file)
                continue
            result = self._execute("\n".join(step["inputs"]["commands"]))
            if result.returncode:
                break
        return result

    def _create(self, file: dict[str, Any]) -> None:
        path = Path(self._here(file["path"]))
        path.parent.mkdir(parents=True, exist_ok=True)
        is_installer = path.name == "efa-installer.sh"
        path.write_text("#!/bin/bash\nsystemctl efa-installer $*\n" if is_installer else file["content"])
        path.chmod(int(file["permissions"], 8))

    def _execute(self, commands: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.stand_ins.commands}:/usr/bin:/bin",
            "EFA_INSTALLED_PACKAGES": str(self.packages),
            "ECS_DATA": str(self.ecs),
            "TMPDIR": str(self.folder / "tmp"),
        }
        command = ["bash", "-c", self._here(commands)]
        return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)

    def _here(self, text: str) -> str:
        return text.replace(FOLDER, f"{self.folder}{FOLDER}")


def test_the_bake_installs_driver_tools_and_image(tmp_path: Path) -> None:
    """In this order, and nothing of ours is left in the image but what was installed."""
    host = Host(tmp_path, cluster(**PULLED, image="public.ecr.aws/team/train:1.2"), not_installed=("mkfs.xfs",))
    result = host.run("build")
    assert (result.returncode, result.stderr) == (0, "")
    assert host.stand_ins.log() == [
        "systemctl efa-installer install",
        "dnf install -y -q mdadm xfsprogs",
        "systemctl start docker",
        "docker pull --quiet public.ecr.aws/team/train:1.2",
    ]
    assert not Path(f"{tmp_path}{FOLDER}").exists()


def test_a_private_image_is_pulled_with_a_password_that_does_not_stay(tmp_path: Path) -> None:
    """The registry's region is the image's own, and the login is gone before the image is made."""
    host = Host(tmp_path, cluster(**PULLED, image=PRIVATE), not_installed=("mkfs.xfs",))
    assert host.run("build").returncode == 0
    registry = PRIVATE.partition("/")[0]
    log = host.stand_ins.log()
    assert "aws ecr get-login-password --region eu-west-1" in log
    assert f"docker login --username AWS --password-stdin {registry}" in log
    assert log[-1] == f"docker pull --quiet {PRIVATE}"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_without_pull_image_nothing_is_pulled(tmp_path: Path) -> None:
    """`ami: prebaked` alone has driver and tools."""
    host = Host(tmp_path, cluster(), not_installed=("mkfs.xfs",))
    assert host.run("build").returncode == 0
    assert not [line for line in host.stand_ins.log() if line.startswith("docker")]


def test_a_step_that_fails_ends_the_bake(tmp_path: Path) -> None:
    """No image without its tools: the package cannot be had here, and what comes after does not run."""
    host = Host(tmp_path, cluster(**PULLED))
    assert host.run("build").returncode != 0
    assert host.stand_ins.log()[-1] == "dnf install -y -q mdadm xfsprogs"


@pytest.mark.parametrize("phase", ["validate", "test"])
def test_a_good_image_passes(tmp_path: Path, phase: str) -> None:
    """The check is the same on the build host and on an instance of the image."""
    host = Host(tmp_path, cluster(**PULLED))
    host.installed()
    (host.stand_ins.state / "images").write_text(f"{cluster().image}\n")
    result = host.run(phase)
    assert (result.returncode, result.stderr) == (0, "")
    assert not Path(f"{tmp_path}{FOLDER}").exists()


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (None, f"EFA installer none, not {VERSION}"),
        ({"installer": "1.30.0"}, f"EFA installer 1.30.0, not {VERSION}"),
        ({"package": "3.3.1", "module": "2.17.3g"}, "the kernel module efa is 2.17.3g, not the package's 3.3.1"),
        ({}, f"no container image {cluster().image}"),
    ],
)
@pytest.mark.parametrize("phase", ["validate", "test"])
def test_an_image_that_lacks_something_is_refused(
    tmp_path: Path, phase: str, left: dict[str, str] | None, message: str
) -> None:
    """The driver of another version, the kernel's own module, or no container image: the build fails and says why."""
    host = Host(tmp_path, cluster(**PULLED))
    if left is not None:
        host.installed(**left)
    result = host.run(phase)
    assert (result.returncode, result.stderr) == (1, f"mnp: not as it should be: {message}\n")


def test_an_image_without_disk_tools_is_refused(tmp_path: Path) -> None:
    """What /scratch needs at boot is looked for by name."""
    host = Host(tmp_path, cluster(), not_installed=("mdadm",))
    host.installed()
    assert host.run("validate").stderr == "mnp: not as it should be: no mdadm\n"


def test_the_image_forgets_its_build_host(tmp_path: Path) -> None:
    """A node that found the ECS agent's state of another instance would register as that one."""
    host = Host(tmp_path, cluster())
    host.installed()
    assert host.run("validate").returncode == 0
    assert "systemctl stop ecs" in host.stand_ins.log()
    assert list(host.ecs.iterdir()) == []


@pytest.mark.parametrize("changes", [{}, PULLED, {**PULLED, "image": PRIVATE}])
def test_the_document_is_one_that_image_builder_takes(changes: dict[str, Any]) -> None:
    """Known phases and actions, within the limit; braces that the component manager would fill in are in no file."""
    text = component_document(cluster(**changes))
    document = yaml.safe_load(text)
    assert len(text) <= prebaked_image.MOST_CHARACTERS
    assert [phase["name"] for phase in document["phases"]] == ["build", "validate", "test"]
    assert {step["action"] for phase in document["phases"] for step in phase["steps"]} == {"CreateFile", "ExecuteBash"}
    assert "{{" not in text


def test_the_files_travel_as_they_are() -> None:
    """What shellcheck saw is what runs."""
    document = yaml.safe_load(component_document(cluster(**PULLED)))
    files = {
        Path(file["path"]).name: file["content"]
        for phase in document["phases"]
        for step in phase["steps"]
        if step["action"] == "CreateFile"
        for file in step["inputs"]
    }
    assert files == {name: file_text(name) for name in files}
    assert files.keys() == {"efa-installer.sh", "tools.sh", "pull-image.sh", "check.sh", "forget-build-host.sh"}


def test_a_document_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At synth, with both figures, and not by Image Builder in the middle of a deploy."""
    monkeypatch.setattr(prebaked_image, "MOST_CHARACTERS", 1000)
    with pytest.raises(ValueError, match=r"component of \d+ characters; 1000 are allowed"):
        component_document(cluster())


def test_the_version_follows_the_content() -> None:
    """Equal content has an equal version, other content another, in the form and range that Image Builder takes."""
    versions = [version_of(component_document(cluster(**changes))) for changes in ({}, {}, PULLED)]
    assert versions[0] == versions[1] != versions[2]
    for version in versions:
        first, *others = map(int, version.split("."))
        assert first == 1
        assert all(0 <= number < 2**30 for number in others)


@pytest.mark.parametrize(("instance_type", "kind"), [("p5.48xlarge", "gpu"), ("trn2.48xlarge", "neuron")])
def test_the_image_is_made_of_awss_own(instance_type: str, kind: str) -> None:
    """The newest ECS image for the accelerators, and a root volume like the nodes': encrypted, of the file's size."""
    found = recipe(cluster(instance_type=instance_type, root_volume_gib=500))
    assert found["ParentImage"].startswith("ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/")
    assert f"/{kind}/" in found["ParentImage"]
    (volume,) = found["BlockDeviceMappings"]
    assert (volume["Ebs"]["VolumeSize"], volume["Ebs"]["Encrypted"]) == (500, True)


def test_a_volume_that_image_builder_does_not_take_is_made_smaller() -> None:
    """EC2 takes 16,384 GiB, a recipe 16,000; the launch template enlarges the volume of each node anyway."""
    (volume,) = recipe(cluster(root_volume_gib=16384))["BlockDeviceMappings"]
    assert volume["Ebs"]["VolumeSize"] == prebaked_image.LARGEST_VOLUME_GIB


def test_there_is_no_component_of_an_image_that_is_not_baked() -> None:
    """Whoever asks for it has made a mistake."""
    with pytest.raises(ValueError, match="is not prebaked"):
        component_document(cluster(ami="ecs"))
