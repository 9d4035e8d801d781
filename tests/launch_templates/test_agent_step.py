from __future__ import annotations

from pathlib import Path

import pytest

from launch_templates.user_data import boothooks, script
from mnp.cluster.model import Cluster
from tests.launch_templates.node import Node
from tests.synth import P5

STEPS = {"efa-installer.sh": "install", "efa-ready.sh": "wait", "scratch.sh": "mount"}


def node_with(folder: Path, step: str) -> Node:
    """A node whose step does what `step` says in bash."""
    boothook = script("efa-ready.sh").split("# shellcheck source")[0]
    node = Node(folder, "efa-ready.sh", text=boothook + step)
    node.boot()
    return node


@pytest.mark.parametrize(("name", "argument"), STEPS.items())
def test_a_boothook_becomes_one_step_before_the_start_of_the_agent(tmp_path: Path, name: str, argument: str) -> None:
    """Two boots leave one step, which is the script itself, kept where it stays."""
    node = Node(tmp_path, name)
    for _ in range(2):
        node.boot()
    section, step, limit = node.drop_in()
    assert section == "[Service]"
    runner, run, seconds, program, given = step.removeprefix("ExecStartPre=").split()
    assert (runner, run, program, given) == (f"{tmp_path}/libexec/agent-step.sh", "run", str(node.program), argument)
    assert int(seconds) > 0
    assert limit.startswith("TimeoutStartSec=")
    assert node.program.read_text() == script(name)


def test_steps_run_in_order_and_systemd_waits_for_all_of_them(tmp_path: Path) -> None:
    """The driver before its devices are counted, and a limit of systemd's that cuts no step short."""
    for name in reversed(STEPS):
        (tmp_path / name).mkdir()
        node = Node(tmp_path / name, name)
        node.drop_ins = tmp_path / "drop-ins"
        node.environment["ECS_DROP_INS"] = str(node.drop_ins)
        node.boot()
    texts = [file.read_text().split() for file in sorted((tmp_path / "drop-ins").iterdir())]
    assert [Path(text[4]).name for text in texts] == list(STEPS)
    limits = [int(text[3]) for text in texts]
    assert {int(text[-1].removeprefix("TimeoutStartSec=")) > sum(limits) for text in texts} == {True}


def test_every_step_is_known_here() -> None:
    """A new boothook that becomes a step has to keep the promises of this file too."""
    everything = Cluster.model_validate(P5 | {"scratch": True, "efa_installer": True})
    texts = boothooks(everything)
    assert {name for name, text in texts.items() if "agent-step.sh" in text} - {"agent-step.sh"} == set(STEPS)


def test_a_step_that_is_through_lets_the_agent_start(tmp_path: Path) -> None:
    """What it says goes to the journal, and nothing to the console."""
    node = node_with(tmp_path, "echo ready; echo a warning >&2")
    result = node.start_agent()
    assert (result.returncode, result.stdout, result.stderr) == (0, "ready\n", "a warning\n")
    assert node.refusal() is None


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("echo cleaning >&2; echo no disk >&2; exit 1", "no disk"),
        ("cp /nowhere /tmp", "cp: cannot stat '/nowhere': No such file or directory"),
        ("exit 3", "efa-ready.sh ended with status 3"),
        ("kill -KILL $$", "efa-ready.sh was stopped; its limit is 180 s"),
    ],
    ids=["says why", "a command fails", "says nothing", "killed"],
)
def test_a_step_that_fails_keeps_the_node_from_work(tmp_path: Path, step: str, reason: str) -> None:
    """However it fails, the node shuts down, and one line on the console and in the journal names the cause."""
    node = node_with(tmp_path, step)
    result = node.start_agent()
    assert result.returncode == 1
    assert node.refusal() == reason
    assert result.stderr.splitlines()[-1] == node.console.read_text().rstrip()


def test_a_step_that_hangs_is_stopped(tmp_path: Path) -> None:
    """It is given its limit, and what exceeds it counts as failed."""
    node = node_with(tmp_path, "exit 0")
    timeout = node.stand_ins.commands / "timeout"
    timeout.write_text(f'#!/bin/bash\necho "$*" >{tmp_path}/given\nexit 124\n')
    timeout.chmod(0o755)
    assert node.start_agent().returncode == 1
    assert (tmp_path / "given").read_text() == f"--kill-after=10 180 {node.program} wait\n"
    assert node.refusal() == "efa-ready.sh was stopped; its limit is 180 s"


def test_a_console_that_cannot_be_written_does_not_keep_the_node_up(tmp_path: Path) -> None:
    """The shutdown is what matters; the line is a courtesy."""
    node = node_with(tmp_path, "exit 1")
    node.console.mkdir()
    assert node.start_agent().returncode == 1
    assert node.stand_ins.log() == ["systemctl --no-block poweroff"]


def test_a_disk_that_is_full_keeps_the_node_from_work(tmp_path: Path) -> None:
    """A step whose words cannot be kept did not run."""
    node = node_with(tmp_path, "exit 0")
    Path(f"{node.program}.errors").mkdir()
    assert node.start_agent().returncode == 1
    assert node.refusal() == "efa-ready.sh ended with status 1"
