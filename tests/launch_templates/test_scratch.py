from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.launch_templates.node import Node

STORE = "nvme-Amazon_EC2_NVMe_Instance_Storage_AWS"


class ScratchNode(Node):
    """A node with a root volume on EBS, and instance-store disks under the names that udev gives them."""

    def __init__(self, folder: Path, *, disks: int, not_installed: tuple[str, ...] = ()) -> None:
        self.by_id = folder / "by-id"
        environment = {
            "DISKS_BY_ID": str(self.by_id),
            "SCRATCH": str(folder / "scratch"),
            "SCRATCH_ARRAY": str(folder / "md/mnp-scratch"),
        }
        super().__init__(folder, "scratch.sh", environment=environment, not_installed=not_installed)
        self.by_id.mkdir()
        self._link("nvme-Amazon_Elastic_Block_Store_vol0", "nvme0n1")
        self._link("nvme-Amazon_Elastic_Block_Store_vol0-part1", "nvme0n1p1")
        for index in range(1, disks + 1):
            self._link(f"{STORE}{index}", f"nvme{index}n1")
            self._link(f"{STORE}{index}-ns-1", f"nvme{index}n1")
        self.boot()

    def _link(self, name: str, device: str) -> None:
        (self.folder / device).touch()
        (self.by_id / name).symlink_to(self.folder / device)

    def changes(self) -> list[str]:
        """Runs the step before the agent's start; returns the commands that changed something, without the folder."""
        result = self.start_agent()
        assert (result.returncode, result.stderr) == (0, "")
        asked = ("udevadm", "mountpoint", "blkid", "mdadm --assemble")
        return [line.replace(f"{self.folder}/", "") for line in self.stand_ins.log() if not line.startswith(asked)]

    def reboot(self) -> None:
        """What is mounted and assembled goes; what is on the disks stays."""
        (self.stand_ins.state / "mounted").unlink()
        (self.folder / "md/mnp-scratch").unlink(missing_ok=True)

    def stop_and_start(self) -> None:
        """Other disks, empty ones."""
        self.reboot()
        for file in [*self.stand_ins.state.glob("label-*"), *self.stand_ins.state.glob("array")]:
            file.unlink()


CREATE = "mdadm --create md/mnp-scratch --name=mnp-scratch --homehost=any --run --level=0 --raid-devices=3"
SEVERAL = [
    f"{CREATE} nvme1n1 nvme2n1 nvme3n1",
    "mkfs.xfs -q -f -K -L mnp-scratch md/mnp-scratch",
    "mount -o noatime md/mnp-scratch scratch",
]
ONE = ["mkfs.xfs -q -f -K -L mnp-scratch nvme1n1", "mount -o noatime nvme1n1 scratch"]


def test_the_boothook_itself_touches_no_disk(tmp_path: Path) -> None:
    """Disks may not be there yet when boothooks run."""
    node = ScratchNode(tmp_path, disks=1)
    node.boot()
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize(("disks", "commands"), [(1, ONE), (3, SEVERAL)])
def test_disks_become_one_file_system_that_lives_as_long_as_they_do(
    tmp_path: Path, disks: int, commands: list[str]
) -> None:
    """Made once, left alone by a second run, mounted again after a reboot, made anew after a stop; never the root."""
    node = ScratchNode(tmp_path, disks=disks)
    assert node.changes() == commands
    assert stat.S_IMODE((tmp_path / "scratch").stat().st_mode) == 0o1777
    assert node.changes() == []
    node.reboot()
    assert node.changes() == commands[-1:]
    node.stop_and_start()
    assert node.changes() == commands


def test_what_the_image_lacks_is_installed_and_nothing_else(tmp_path: Path) -> None:
    """Amazon Linux's image for ECS has no mdadm."""
    node = ScratchNode(tmp_path, disks=3, not_installed=("mdadm", "mkfs.xfs"))
    assert node.changes() == ["dnf install -y -q mdadm", SEVERAL[0], "dnf install -y -q xfsprogs", *SEVERAL[1:]]


def test_ext4_serves_where_xfs_cannot_be_had(tmp_path: Path) -> None:
    """No way to the packages is no reason for a node without scratch."""
    node = ScratchNode(tmp_path, disks=1, not_installed=("mkfs.xfs",))
    (node.stand_ins.state / "packages/xfsprogs/mkfs.xfs").unlink()
    assert node.changes()[1] == "mkfs.ext4 -q -F -E nodiscard -L mnp-scratch nvme1n1"


def test_partitions_are_left_alone(tmp_path: Path) -> None:
    """A link to a partition is no disk."""
    node = ScratchNode(tmp_path, disks=1)
    node._link(f"{STORE}1-part1", "nvme1n1p1")
    assert node.changes() == ONE


@pytest.mark.parametrize(
    ("disks", "breaks", "reason"),
    [
        (0, None, "this instance has no instance-store disk"),
        (2, "packages/mdadm/mdadm", "mdadm cannot be installed"),
        (2, "mdadm", "mdadm cannot join 2 disks"),
        (1, "mkfs.xfs", "no file system can be made on {folder}/nvme1n1"),
        (1, "mount", "{folder}/nvme1n1 cannot be mounted"),
    ],
)
def test_a_node_without_its_scratch_gets_no_agent_and_shuts_down(
    tmp_path: Path, disks: int, breaks: str | None, reason: str
) -> None:
    """With one line on the console and in the journal that names the cause."""
    node = ScratchNode(tmp_path, disks=disks, not_installed=("mdadm",) if breaks == "packages/mdadm/mdadm" else ())
    if breaks is not None:
        home = node.stand_ins.state if "/" in breaks else node.stand_ins.commands
        (home / breaks).write_text("#!/bin/bash\nexit 1\n")
        if "/" in breaks:
            (home / breaks).unlink()
    result = node.start_agent()
    cause = f"no {tmp_path}/scratch: {reason.format(folder=tmp_path)}"
    line = f"mnp: {cause}: this node takes no work and shuts down\n"
    assert (result.returncode, result.stderr) == (1, f"{cause}\n{line}")
    assert node.console.read_text() == line
    assert node.stand_ins.log()[-1] == "systemctl --no-block poweroff"
