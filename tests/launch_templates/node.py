"""A node of stand-ins that boots one boot script, and starts its ECS agent as systemd does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from launch_templates.user_data import script
from tests.launch_templates.stand_ins import StandIns


class Node:
    """Boots agent-step.sh and then the script, under the names that cloud-init gives to parts."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        text: str | None = None,
        environment: dict[str, str] | None = None,
        not_installed: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.name = name
        self.stand_ins = StandIns(folder, not_installed=not_installed)
        self.program = folder / "libexec" / name
        self.console = folder / "console"
        self.drop_ins = folder / "drop-ins"
        self.environment = {
            "PATH": f"{self.stand_ins.commands}:/usr/bin:/bin",
            "MNP_LIBEXEC": str(folder / "libexec"),
            "ECS_DROP_INS": str(self.drop_ins),
            "CONSOLE": str(self.console),
        } | (environment or {})
        self.parts = [folder / "part-002", folder / "part-006"]
        for part, content in zip(self.parts, (script("agent-step.sh"), text or script(name)), strict=True):
            part.write_text(content)
            part.chmod(0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | self.environment
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def boot(self) -> None:
        for part in self.parts:
            result = self.run(str(part))
            assert (result.returncode, result.stderr) == (0, "")
        assert self.stand_ins.log() == ["systemctl daemon-reload"]

    def drop_in(self) -> list[str]:
        """The lines of the one that the script made."""
        (file,) = self.drop_ins.iterdir()
        return file.read_text().splitlines()

    def start_agent(self) -> subprocess.CompletedProcess[str]:
        """The step before the agent's start, as the drop-in has it."""
        (step,) = [line.removeprefix("ExecStartPre=") for line in self.drop_in() if line.startswith("ExecStartPre=")]
        return self.run(*step.split())

    def refusal(self) -> str | None:
        """Why the node takes no work: what stands on its console, if the last that it did was to power itself off."""
        powered_off = self.stand_ins.log()[-1:] == ["systemctl --no-block poweroff"]
        assert powered_off == self.console.exists()
        if not powered_off:
            return None
        line = self.console.read_text()
        head, tail = "mnp: ", ": this node takes no work and shuts down\n"
        assert line.startswith(head)
        assert line.endswith(tail)
        return line.removeprefix(head).removesuffix(tail)
