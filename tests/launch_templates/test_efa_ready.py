from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch_templates.node import Node

EFA, OTHER_MAKER = "0x1d0f", "0x15b3"


class EfaNode(Node):
    """A node that should have four EFA devices."""

    def __init__(self, folder: Path) -> None:
        environment = {
            "MNP_NODE_ENV": str(folder / "node.env"),
            "INFINIBAND_DEVICES": str(folder / "infiniband"),
            "INFINIBAND_VERBS": str(folder / "verbs"),
            "MNP_EFA_WAIT": "3",
        }
        super().__init__(folder, "efa-ready.sh", environment=environment)
        (folder / "node.env").write_text("MNP_EFA_DEVICES=4\n")
        (folder / "infiniband").mkdir()
        (self.stand_ins.state / "late").mkdir()
        self.boot()

    def add(self, *indexes: int, late: bool = False, maker: str = EFA) -> None:
        for index in indexes:
            vendor = self.folder / f"verbs/uverbs{index}/device/vendor"
            vendor.parent.mkdir(parents=True)
            vendor.write_text(maker + "\n")
            ((self.stand_ins.state / "late" if late else self.folder / "infiniband") / f"uverbs{index}").touch()


@pytest.fixture
def node(tmp_path: Path) -> EfaNode:
    return EfaNode(tmp_path)


def test_a_node_with_all_devices_does_not_wait(node: EfaNode) -> None:
    """Neither at the first boot nor when the agent is started again."""
    node.add(0, 1, 2, 3)
    for _ in range(2):
        result = node.start_agent()
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout == "mnp: 4 of 4 EFA devices after 0 s\n"
    assert node.stand_ins.log() == []


def test_late_devices_are_waited_for(node: EfaNode) -> None:
    """A type that brings its devices up late (p5en) still gets work."""
    node.add(0, 1)
    node.add(2, 3, late=True)
    result = node.start_agent()
    assert result.stdout == "mnp: 4 of 4 EFA devices after 1 s\n"
    assert (result.returncode, node.stand_ins.log()) == (0, ["sleep 1"])


def test_an_incomplete_node_gets_no_agent_and_shuts_down(node: EfaNode) -> None:
    """In bounded time, with one line on the console and in the journal that says how many are missing."""
    node.add(0, 1, 2)
    result = node.start_agent()
    line = "mnp: 3 of 4 EFA devices after 3 s: this node takes no work and shuts down\n"
    assert (result.returncode, result.stderr) == (1, "3 of 4 EFA devices after 3 s\n" + line)
    assert node.console.read_text() == line
    assert node.stand_ins.log() == ["sleep 1"] * 3 + ["systemctl --no-block poweroff"]


def test_a_node_that_was_not_told_how_many_takes_no_work(node: EfaNode) -> None:
    """A node whose file of values is missing cannot know that it is complete."""
    (node.folder / "node.env").unlink()
    assert node.start_agent().returncode == 1
    assert (node.refusal() or "").endswith("No such file or directory")


def test_devices_of_another_maker_do_not_count(node: EfaNode) -> None:
    """The NVLink management devices of P6 are no EFA."""
    node.add(0, 1, 2)
    node.add(3, maker=OTHER_MAKER)
    assert node.start_agent().returncode == 1


def test_a_device_whose_maker_cannot_be_read_counts(node: EfaNode) -> None:
    """Where the kernel says nothing of the maker, the check errs towards taking work, not towards losing nodes."""
    node.add(0, 1, 2, 3)
    for vendor in (node.folder / "verbs").glob("*/device/vendor"):
        vendor.unlink()
    assert node.start_agent().stdout == "mnp: 4 of 4 EFA devices after 0 s\n"
