from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from launch_templates.user_data import script
from tests.launch_templates.stand_ins import StandIns

EFA, OTHER_MAKER = "0x1d0f", "0x15b3"


class Node:
    """A node that should have four EFA devices."""

    def __init__(self, folder: Path) -> None:
        self.stand_ins = StandIns(folder)
        self.folder = folder
        (folder / "node.env").write_text("MNP_EFA_DEVICES=4\n")
        (folder / "infiniband").mkdir()
        (self.stand_ins.state / "late").mkdir()
        self.part = folder / "part-004"
        self.part.write_text(script("efa-ready.sh"))
        self.part.chmod(0o755)

    def add(self, *indexes: int, late: bool = False, maker: str = EFA) -> None:
        for index in indexes:
            vendor = self.folder / f"verbs/uverbs{index}/device/vendor"
            vendor.parent.mkdir(parents=True)
            vendor.write_text(maker + "\n")
            ((self.stand_ins.state / "late" if late else self.folder / "infiniband") / f"uverbs{index}").touch()

    def run(self, program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.stand_ins.commands}:/usr/bin:/bin",
            "MNP_LIBEXEC": str(self.folder / "libexec"),
            "ECS_DROP_INS": str(self.folder / "drop-ins"),
            "MNP_NODE_ENV": str(self.folder / "node.env"),
            "INFINIBAND_DEVICES": str(self.folder / "infiniband"),
            "INFINIBAND_VERBS": str(self.folder / "verbs"),
            "CONSOLE": str(self.folder / "console"),
            "MNP_EFA_WAIT": "3",
        }
        command = [str(program), *arguments]
        return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)

    def wait(self) -> subprocess.CompletedProcess[str]:
        return self.run(self.part, "wait")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_the_boothook_puts_itself_before_the_start_of_the_ecs_agent(node: Node) -> None:
    """Two boots leave one step before the agent's start, which is the script itself, with time to wait."""
    for _ in range(2):
        result = node.run(node.part)
        assert (result.returncode, result.stderr) == (0, "")
        assert node.stand_ins.log() == ["systemctl daemon-reload"]
    program = node.folder / "libexec/efa-ready.sh"
    (drop_in,) = (node.folder / "drop-ins").iterdir()
    assert drop_in.read_text().splitlines() == ["[Service]", f"ExecStartPre={program} wait", "TimeoutStartSec=900"]
    node.add(0, 1, 2, 3)
    assert node.run(program, "wait").returncode == 0


def test_a_node_with_all_devices_does_not_wait(node: Node) -> None:
    """Neither at the first boot nor when the agent is started again."""
    node.add(0, 1, 2, 3)
    for _ in range(2):
        result = node.wait()
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout == "mnp: 4 of 4 EFA devices after 0 s\n"
    assert node.stand_ins.log() == []


def test_late_devices_are_waited_for(node: Node) -> None:
    """A type that brings its devices up late (p5en) still gets work."""
    node.add(0, 1)
    node.add(2, 3, late=True)
    result = node.wait()
    assert result.stdout == "mnp: 4 of 4 EFA devices after 1 s\n"
    assert (result.returncode, node.stand_ins.log()) == (0, ["sleep 1"])


def test_an_incomplete_node_gets_no_agent_and_shuts_down(node: Node) -> None:
    """In bounded time, with one line on the console and in the journal that says how many are missing."""
    node.add(0, 1, 2)
    result = node.wait()
    line = "mnp: 3 of 4 EFA devices after 3 s: this node takes no work and shuts down\n"
    assert (result.returncode, result.stderr) == (1, line)
    assert (node.folder / "console").read_text() == line
    assert node.stand_ins.log() == ["sleep 1"] * 3 + ["systemctl --no-block poweroff"]


def test_devices_of_another_maker_do_not_count(node: Node) -> None:
    """The NVLink management devices of P6 are no EFA."""
    node.add(0, 1, 2)
    node.add(3, maker=OTHER_MAKER)
    assert node.wait().returncode == 1


def test_a_console_that_cannot_be_written_does_not_keep_the_node_up(node: Node) -> None:
    """The shutdown is what matters; the line is a courtesy."""
    (node.folder / "console").mkdir()
    assert node.wait().returncode == 1
    assert node.stand_ins.log()[-1] == "systemctl --no-block poweroff"


def test_a_device_whose_maker_cannot_be_read_counts(node: Node) -> None:
    """Where the kernel says nothing of the maker, the check errs towards taking work, not towards losing nodes."""
    node.add(0, 1, 2, 3)
    for vendor in (node.folder / "verbs").glob("*/device/vendor"):
        vendor.unlink()
    assert node.wait().stdout == "mnp: 4 of 4 EFA devices after 0 s\n"
