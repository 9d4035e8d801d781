from __future__ import annotations

import os
import subprocess
from pathlib import Path

from launch_templates.user_data import script
from tests.launch_templates.stand_ins import StandIns

SETTINGS = {"kernel.yama.ptrace_scope": "0"}


def run(folder: Path, text: str, *, path: str) -> tuple[Path, list[str]]:
    """Two boots; returns the file of settings and what was printed."""
    file = folder / "sysctl.d/90-mnp.conf"
    environment = os.environ | {"SYSCTL_FILE": str(file), "PATH": path}
    for _ in range(2):
        command = ["bash", "-c", text]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return file, (result.stdout + result.stderr).splitlines()


def test_settings_are_kept_and_applied_at_once(tmp_path: Path) -> None:
    """They hold now and after a reboot; a second boot changes nothing."""
    stand_ins = StandIns(tmp_path)
    file, _ = run(tmp_path, script("kernel.sh"), path=f"{stand_ins.commands}:/usr/bin:/bin")
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert dict(line.split(" = ") for line in lines) == SETTINGS
    assert stand_ins.log() == [f"sysctl --quiet --ignore --load={file}"] * 2


def test_a_kernel_without_a_setting_is_no_reason_to_fail(tmp_path: Path) -> None:
    """The real sysctl passes over a key that the kernel does not have."""
    text = script("kernel.sh").replace("kernel.yama.ptrace_scope", "kernel.mnp.no_such_key")
    file, printed = run(tmp_path, text, path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
    assert "kernel.mnp.no_such_key = 0" in file.read_text()
    assert printed[-1] == "mnp: kernel settings applied"
