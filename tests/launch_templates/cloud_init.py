"""Boots user data with the real cloud-init, on a copy-on-write view of this machine with stand-ins for an instance.

Everything happens in namespaces of its own and on a tmpfs that goes with them. Needs root, overlayfs, and apt for
Debian's cloud-init (22.4; Amazon Linux 2023 has 22.2).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.launch_templates.stand_ins import StandIns

# Unpacks cloud-init's layer, if there is one, and puts "$folder"/files over it and over this machine's own root.
_MACHINE = """
set -euo pipefail
folder=$1
mkdir -p "$folder/ram"
mount -t tmpfs tmpfs "$folder/ram"
cd "$folder/ram"
mkdir layer up work root
if [ -n "${2:-}" ]; then tar -xf "$2" -C layer; fi
if [ -e "$folder/files" ]; then cp -a "$folder/files/." up/; fi
mount -t overlay overlay -o lowerdir=layer:/,upperdir=up,workdir=work root
mount -t proc proc root/proc
mount -t tmpfs tmpfs root/run
mount -t tmpfs tmpfs root/dev
for device in null zero full random urandom; do
  touch "root/dev/$device"
  mount --bind "/dev/$device" "root/dev/$device"
done
ln -s /proc/self/fd root/dev/fd
if [ -e "$folder/devices" ]; then cp -a "$folder/devices/." root/dev/; fi
"""
_INSTALL = """
cp /etc/resolv.conf root/run/resolv.conf
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io cloud-init"
chroot root $install || { chroot root apt-get update -qq && chroot root $install; }
rm -rf up/var/cache up/var/lib/apt up/tmp
tar -cf "$folder/layer.tar" -C up .
"""
# What systemd does: cloud-init's four stages, then the steps before the start of the ECS agent.
_BOOT = """
start_agent='while read -r step; do $step; done </run/steps; echo registered >>/var/stand-ins/agent'
for _ in $(seq "$3"); do
  rm -rf root/run/* root/dev/md* root/var/stand-ins/mounted
  for stage in "init --local" "init" "modules --mode=config" "modules --mode=final"; do
    chroot root cloud-init $stage || true
  done
  sed -n 's/^ExecStartPre=//p' root/etc/systemd/system/ecs.service.d/*.conf >root/run/steps || true
  chroot root bash -euc "$start_agent" >>root/var/stand-ins/journal 2>&1 || true
done
mkdir "$folder/after"
cp -a up/etc up/var root/run "$folder/after/"
cp root/dev/console "$folder/after/" 2>/dev/null || true
"""
_CLOUD_CONFIG = """
datasource_list: [NoCloud]
network: {config: disabled}
preserve_hostname: true
cloud_init_modules: [write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-per-once, scripts-per-boot, scripts-per-instance, scripts-user]
"""


class CannotRunError(Exception):
    """This machine cannot run cloud-init; the message says why."""


@dataclass(frozen=True, slots=True)
class Booted:
    """What a machine looks like after its boots."""

    root: Path
    commands: tuple[str, ...]

    def read(self, name: str) -> str | None:
        file = self.root / name
        return file.read_text() if file.exists() else None

    def complaints(self) -> list[str]:
        """What cloud-init itself has to say: warnings and tracebacks of its log, errors of its result."""
        log = self.read("var/log/cloud-init.log") or ""
        lines = [line for line in log.splitlines() if re.search(r"\[(WARNING|ERROR|CRITICAL)\]|^Traceback", line)]
        result = json.loads(self.read("run/cloud-init/result.json") or '{"v1": {"errors": ["no result.json"]}}')
        return lines + list(result["v1"]["errors"])


def _run(folder: Path, script: str, *arguments: str, network: bool) -> subprocess.CompletedProcess[str]:
    namespaces = ["--mount", "--propagation", "private", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
    command = ["unshare", *namespaces, *([] if network else ["--net"]), "bash", "-c", _MACHINE + script, "machine"]
    environment = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    return subprocess.run(
        [*command, str(folder), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def install(folder: Path) -> Path:
    """A tar file of what installing cloud-init adds to this machine.

    Raises:
        CannotRunError: this machine does not let us.
    """
    if os.geteuid() != 0:
        raise CannotRunError("cloud-init needs root")
    if not (shutil.which("apt-get") and shutil.which("unshare")):
        raise CannotRunError("no apt-get or unshare on this machine")
    result = _run(folder, _INSTALL, "", network=True)
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise CannotRunError(f"cloud-init cannot be installed in an overlay: {lines[-1] if lines else 'no output'}")
    return folder / "layer.tar"


def boot(
    folder: Path,
    layer: Path,
    user_data: str,
    *,
    efa_devices: int,
    disks: int = 0,
    times: int = 1,
    downloads: Path | None = None,
) -> Booted:
    """A machine with `efa_devices` EFA devices and `disks` instance-store disks, after `times` boots.

    `downloads` holds what it can download.
    """
    files, devices = folder / "files", folder / "devices"
    stand_ins = StandIns(files, seen_as=Path("/"), not_installed=("mdadm",))
    if downloads is not None:
        shutil.copytree(downloads, stand_ins.state / "downloads")
    seed = files / "var/lib/cloud/seed/nocloud"
    seed.mkdir(parents=True)
    (seed / "user-data").write_text(user_data)
    (seed / "meta-data").write_text("instance-id: i-0123456789abcdef0\n")
    (files / "etc/cloud/cloud.cfg.d").mkdir(parents=True)
    (files / "etc/cloud/cloud.cfg.d/99-instance.cfg").write_text(_CLOUD_CONFIG)
    (files / "etc/sysconfig").mkdir()
    (files / "etc/sysconfig/docker").write_text('OPTIONS="--default-ulimit nofile=32768:65536"\n')
    (files / "sys/class/net").mkdir(parents=True)
    (devices / "infiniband").mkdir(parents=True)
    for index in range(efa_devices):
        vendor = files / f"sys/class/infiniband_verbs/uverbs{index}/device/vendor"
        vendor.parent.mkdir(parents=True)
        vendor.write_text("0x1d0f\n")
        (devices / f"infiniband/uverbs{index}").touch()
    (devices / "disk/by-id").mkdir(parents=True)
    for index in range(1, disks + 1):
        (devices / f"nvme{index}n1").touch()
        link = devices / f"disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS{index}"
        link.symlink_to(f"../../nvme{index}n1")
    result = _run(folder, _BOOT, str(layer), str(times), network=False)
    assert result.returncode == 0, result.stdout + result.stderr
    after = folder / "after"
    log = (after / "var/stand-ins/log").read_text().splitlines()
    # cloud-init itself looks for its data on every kind of disk.
    return Booted(after, tuple(line for line in log if not line.startswith("blkid -t")))
