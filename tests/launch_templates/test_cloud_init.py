from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from launch_templates.user_data import script, user_data
from mnp.cluster.cluster_file import load
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from tests.launch_templates.cloud_init import Booted, CannotRunError, boot, install
from tests.launch_templates.efa_release import is_gpg_here, keys, pinned_to, publish, tarball
from tests.synth import EXAMPLES, P5

pytestmark = pytest.mark.end_to_end

DOCKER_OPTIONS = 'OPTIONS="--default-ulimit nofile=32768:65536 --default-ulimit memlock=-1:-1"\n'
ECS_CONFIG = "ECS_AWSVPC_BLOCK_IMDS=true\nECS_IMAGE_PULL_BEHAVIOR=prefer-cached\n"
DROP_INS = "etc/systemd/system/ecs.service.d"


@pytest.fixture(scope="session")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What cloud-init adds to this machine; skips, and says why, where it cannot be had."""
    try:
        return install(tmp_path_factory.mktemp("cloud-init"))
    except CannotRunError as error:
        pytest.skip(str(error))


def efa_devices(cluster: Cluster) -> int:
    return catalogue()[cluster.instance_type].maximum_efa_interfaces


def kernel_settings() -> str:
    return script("kernel.sh").split("<<'END'\n")[1].split("END\n")[0]


def problems(booted: Booted, cluster: Cluster, *, times: int = 1) -> list[str]:
    """What is not as it should be on a node whose agent may take work.

    Effects are looked at first of all: cloud-init's own status is "done" for most broken user data.
    """
    expected = {
        "etc/mnp/node.env": f"MNP_EFA_DEVICES={efa_devices(cluster)}\n",
        "etc/sysconfig/docker": DOCKER_OPTIONS,
        "etc/ecs/ecs.config": ECS_CONFIG,
        "etc/sysctl.d/90-mnp.conf": kernel_settings(),
        "var/stand-ins/agent": "registered\n" * times,
        "console": None,
    }
    wrong = [f"{name}: {booted.read(name)!r}" for name, text in expected.items() if booted.read(name) != text]
    installer, scratch = ["10-efa-installer.conf"] * cluster.efa_installer, ["30-scratch.conf"] * cluster.scratch
    steps = [*installer, "20-efa-ready.conf", *scratch]
    if (found := sorted(file.name for file in booted.root.glob(f"{DROP_INS}/*"))) != steps:
        wrong.append(f"{DROP_INS}: {found}")
    return booted.complaints() + wrong


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_cloud_init_takes_the_user_data_of_every_example(file: Path, layer: Path, tmp_path: Path) -> None:
    """Every part runs, in order, with nothing to complain of, and the agent takes work on a node with all devices."""
    cluster = load(file).cluster
    booted = boot(tmp_path, layer, user_data(cluster), efa_devices=efa_devices(cluster), disks=2 * cluster.scratch)
    assert problems(booted, cluster) == []


def test_a_reboot_mounts_the_scratch_again_and_changes_nothing_else(layer: Path, tmp_path: Path) -> None:
    """The second boot makes no array and no file system, doubles no setting, and holds the agent back as the first."""
    cluster = Cluster.model_validate(P5 | {"scratch": True})
    booted = boot(tmp_path, layer, user_data(cluster), efa_devices=32, disks=2, times=2)
    assert problems(booted, cluster, times=2) == []
    create = "mdadm --create /dev/md/mnp-scratch --name=mnp-scratch --homehost=any --run --level=0 --raid-devices=2"
    assert [line for line in booted.commands if line.startswith(("mdadm --create", "mkfs", "mount "))] == [
        f"{create} /dev/nvme1n1 /dev/nvme2n1",
        "mkfs.xfs -q -f -K -L mnp-scratch /dev/md/mnp-scratch",
        "mount -o noatime /dev/md/mnp-scratch /scratch",
        "mount -o noatime /dev/md/mnp-scratch /scratch",
    ]


def test_a_node_that_lacks_a_device_never_takes_work(layer: Path, tmp_path: Path) -> None:
    """The step before the agent's start ends in a shutdown, and the console says why."""
    cluster = Cluster.model_validate(P5)
    booted = boot(tmp_path, layer, user_data(cluster), efa_devices=31)
    assert booted.read("var/stand-ins/agent") is None
    assert booted.read("console") == ("mnp: 31 of 32 EFA devices after 120 s: this node takes no work and shuts down\n")
    assert booted.commands[-1] == "systemctl --no-block poweroff"


@pytest.mark.parametrize("signer", ["pinned", "other"])
def test_the_efa_driver_is_installed_before_the_agent_starts_or_the_node_takes_no_work(
    signer: str, layer: Path, tmp_path: Path
) -> None:
    """Over two boots it is installed once; a release that another key signed is not."""
    if not is_gpg_here():
        pytest.skip("no GnuPG on this machine: apt-get install gnupg")
    cluster = Cluster.model_validate(P5 | {"efa_installer": True, "scratch": True})
    data = tarball(state=Path("/var/stand-ins"), packages=Path("/opt/amazon/efa_installed_packages"))
    with keys() as by_name:
        key = by_name[signer]
        publish(tmp_path / "release", tarball=data, signature=key.sign(data), key=key.public(by_name["pinned"]))
        text = pinned_to(user_data(cluster), by_name["pinned"])
    booted = boot(tmp_path, layer, text, efa_devices=32, disks=2, times=2, downloads=tmp_path / "release")
    installed = [line for line in booted.commands if line.startswith("efa_installer.sh")]
    if signer == "pinned":
        assert problems(booted, cluster, times=2) == []
        assert installed == ["efa_installer.sh -y --minimal"]
    else:
        assert booted.read("var/stand-ins/agent") is None
        assert "is not signed by the key" in (booted.read("console") or "")
        assert (installed, booted.commands[-1]) == ([], "systemctl --no-block poweroff")


@pytest.mark.parametrize(
    ("damage", "evidence"),
    [
        (lambda text: text.replace("set -euo pipefail", "exit 1", 1), "Boothooks script"),
        (lambda text: text.replace('boundary="==', 'boundary="==another', 1), "etc/mnp/node.env: None"),
        (lambda text: base64.b64encode(text.encode()).decode(), "Unhandled non-multipart"),
    ],
    ids=["a part fails", "wrong boundary", "base64 twice"],
)
def test_damaged_user_data_is_noticed(damage: Callable[[str], str], evidence: str, layer: Path, tmp_path: Path) -> None:
    """The check above would fail for each of the ways in which user data breaks in silence."""
    cluster = Cluster.model_validate(P5)
    booted = boot(tmp_path, layer, damage(user_data(cluster)), efa_devices=32)
    assert [problem for problem in problems(booted, cluster) if evidence in problem]
