from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from launch_templates.user_data import script
from tests.launch_templates.efa_release import (
    FINGERPRINT,
    INSTALLER,
    KEY,
    TARBALL,
    VERSION,
    Key,
    is_gpg_here,
    keys,
    pinned_to,
    publish,
    tarball,
)
from tests.launch_templates.node import Node

CURL = (
    "curl --fail --silent --show-error --proto =https --tlsv1.2 --connect-timeout 10 --max-time 240"
    " --retry 5 --retry-all-errors --retry-max-time 240 --output {0} https://efa-installer.amazonaws.com/{0}"
)
DOWNLOADS = [CURL.format(name) for name in (KEY, f"{TARBALL}.sig", TARBALL)]
RAN = "efa_installer.sh -y --minimal"


@pytest.fixture(scope="module", name="by_name")
def keys_by_name() -> Iterator[dict[str, Key]]:
    if not is_gpg_here():
        pytest.skip("no GnuPG on this machine: apt-get install gnupg")
    with keys() as made:
        yield made


class InstallerNode(Node):
    """A node that takes `pinned` for AWS's key; `publish` says what it can download."""

    def __init__(self, folder: Path, pinned: Key) -> None:
        self.packages = folder / "opt/efa_installed_packages"
        environment = {"EFA_INSTALLED_PACKAGES": str(self.packages), "TMPDIR": str(folder / "tmp")}
        text = pinned_to(script("efa-installer.sh"), pinned)
        super().__init__(folder, "efa-installer.sh", text=text, environment=environment)
        (folder / "tmp").mkdir()
        self.downloads = self.stand_ins.state / "downloads"
        self.boot()

    def tarball(self, installer: str = INSTALLER) -> bytes:
        return tarball(state=self.stand_ins.state, packages=self.packages, installer=installer)

    def publish(self, signer: Key, *, key: bytes | None = None, installer: str = INSTALLER) -> None:
        data = self.tarball(installer)
        publish(self.downloads, tarball=data, signature=signer.sign(data), key=key or signer.public())

    def left_behind(self) -> list[str]:
        return [file.name for file in (self.folder / "tmp").iterdir()]


def test_the_key_is_the_one_of_aws_documents() -> None:
    """Written out once more as the EFA user guide has it, so that no slip of the hand changes it."""
    published = "4E90 91BC BB97 A96B 26B1 5E59 A054 80B1 DD2D 3CCC"
    assert published.replace(" ", "") == FINGERPRINT


@pytest.mark.parametrize("signer", ["pinned", "pinned with a subkey"])
def test_a_release_that_the_pinned_key_signed_is_installed(
    tmp_path: Path, by_name: dict[str, Key], signer: str
) -> None:
    """Once: the second boot sees that it is there, and downloads nothing."""
    node = InstallerNode(tmp_path, by_name[signer])
    node.publish(by_name[signer])
    result = node.start_agent()
    assert (result.returncode, result.stdout) == (0, f"mnp: EFA installer {VERSION} ran\n")
    assert node.stand_ins.log() == [*DOWNLOADS, RAN]
    assert node.left_behind() == []
    node.boot()
    assert node.start_agent().stdout == f"mnp: EFA installer {VERSION} ran before\n"
    assert node.stand_ins.log() == []


def test_a_key_file_may_hold_other_keys_beside_the_pinned_one(tmp_path: Path, by_name: dict[str, Key]) -> None:
    """AWS may publish its next key before it signs with it."""
    node = InstallerNode(tmp_path, by_name["pinned"])
    node.publish(by_name["pinned"], key=by_name["other"].public(by_name["pinned"]))
    assert node.start_agent().returncode == 0
    assert node.stand_ins.log()[-1] == RAN


def test_an_image_with_another_version_gets_this_one(tmp_path: Path, by_name: dict[str, Key]) -> None:
    """That some EFA installer ran is not enough."""
    node = InstallerNode(tmp_path, by_name["pinned"])
    node.packages.parent.mkdir()
    node.packages.write_text(f"# EFA installer version: 1.48.0\n# EFA installer version: {VERSION}0\n")
    node.publish(by_name["pinned"])
    assert node.start_agent().returncode == 0
    assert node.stand_ins.log() == [*DOWNLOADS, RAN]


def wrong_signature(node: InstallerNode, by_name: dict[str, Key]) -> str:
    node.publish(by_name["other"], key=by_name["pinned"].public())
    return "signed"


def tampered_tarball(node: InstallerNode, by_name: dict[str, Key]) -> str:
    node.publish(by_name["pinned"])
    (node.downloads / TARBALL).write_bytes(node.tarball("#!/bin/bash\necho tampered >>{state}/log\n"))
    return "signed"


def another_key(node: InstallerNode, by_name: dict[str, Key]) -> str:
    node.publish(by_name["other"])
    return "key"


def second_key_of_two(node: InstallerNode, by_name: dict[str, Key]) -> str:
    node.publish(by_name["other"], key=by_name["pinned"].public(by_name["other"]))
    return "signed"


def two_signatures(node: InstallerNode, by_name: dict[str, Key]) -> str:
    node.publish(by_name["other"], key=by_name["pinned"].public(by_name["other"]))
    signature = node.downloads / f"{TARBALL}.sig"
    signature.write_bytes(by_name["pinned"].sign(b"another release") + signature.read_bytes())
    return "signed"


def no_signature(node: InstallerNode, by_name: dict[str, Key]) -> str:
    node.publish(by_name["pinned"])
    (node.downloads / f"{TARBALL}.sig").write_bytes(b"")
    return "signed"


def no_key(node: InstallerNode, by_name: dict[str, Key]) -> str:
    node.publish(by_name["pinned"], key=b"<html>sign in to the hotel's network</html>")
    return "read"


REASONS = {
    "signed": f"{TARBALL} is not signed by the key {{pinned}}",
    "key": f"{KEY} is not the key {{pinned}}",
    "read": f"{KEY} cannot be read",
}


@pytest.mark.parametrize(
    "deliver",
    [wrong_signature, tampered_tarball, another_key, second_key_of_two, two_signatures, no_signature, no_key],
    ids=lambda deliver: deliver.__name__,
)
def test_nothing_else_is_unpacked_and_the_node_takes_no_work(
    tmp_path: Path, by_name: dict[str, Key], deliver: object
) -> None:
    """The node says which key it asked for, runs nothing of what it downloaded, and leaves nothing of it."""
    node = InstallerNode(tmp_path, by_name["pinned"])
    assert callable(deliver)
    reason = REASONS[deliver(node, by_name)].format(pinned=by_name["pinned"].fingerprint)
    assert node.start_agent().returncode == 1
    log = (node.stand_ins.state / "log").read_text().splitlines()
    assert node.refusal() == f"EFA installer {VERSION}: {reason}"
    assert log == [*DOWNLOADS, "systemctl --no-block poweroff"]
    assert not node.packages.exists()
    assert node.left_behind() == []


@pytest.mark.parametrize("besides", [False, True], ids=["alone", "beside the good signature of another key"])
def test_an_expired_key_is_not_accepted(tmp_path: Path, by_name: dict[str, Key], *, besides: bool) -> None:
    """GnuPG itself still calls its signature valid, and ends with 0."""
    node = InstallerNode(tmp_path, by_name["expired"])
    node.publish(by_name["expired"], key=by_name["expired"].public(by_name["other"]))
    signature = node.downloads / f"{TARBALL}.sig"
    other = by_name["other"].sign((node.downloads / TARBALL).read_bytes()) if besides else b""
    signature.write_bytes(other + signature.read_bytes())
    assert node.start_agent().returncode == 1
    assert "is not signed by the key" in (node.refusal() or "")


@pytest.mark.parametrize("missing", [KEY, f"{TARBALL}.sig", TARBALL])
def test_a_download_that_fails_keeps_the_node_from_work(tmp_path: Path, by_name: dict[str, Key], missing: str) -> None:
    """The console names the file."""
    node = InstallerNode(tmp_path, by_name["pinned"])
    node.publish(by_name["pinned"])
    (node.downloads / missing).unlink()
    assert node.start_agent().returncode == 1
    assert node.refusal() == f"EFA installer {VERSION}: {missing} cannot be downloaded"


@pytest.mark.parametrize(
    ("installer", "reason"),
    [
        ("#!/bin/bash\necho no kernel-devel >&2\nexit 1\n", "efa_installer.sh failed"),
        ("#!/bin/bash\n", "efa_installer.sh did not install it"),
        (INSTALLER.replace("{version}", "1.0.0"), "efa_installer.sh did not install it"),
    ],
    ids=["fails", "does nothing", "another version"],
)
def test_an_installer_that_does_not_install_keeps_the_node_from_work(
    tmp_path: Path, by_name: dict[str, Key], installer: str, reason: str
) -> None:
    """Its own words are in the journal, before ours."""
    node = InstallerNode(tmp_path, by_name["pinned"])
    node.publish(by_name["pinned"], installer=installer)
    result = node.start_agent()
    assert result.returncode == 1
    assert ("no kernel-devel" in result.stderr) == ("no kernel-devel" in installer)
    assert node.refusal() == f"EFA installer {VERSION}: {reason}"


def test_an_image_is_made_without_anything_else_of_ours(tmp_path: Path, by_name: dict[str, Key]) -> None:
    """`install` works where no other boot script ever ran; a failure is an exit status and a line, and no shutdown."""
    node = InstallerNode(tmp_path, by_name["pinned"])
    builder = {"MNP_LIBEXEC": "/nowhere", "ECS_DROP_INS": "/nowhere", "CONSOLE": "/nowhere/console"}
    node.environment |= builder
    result = node.run(str(node.parts[1]), "install")
    assert (result.returncode, result.stderr.splitlines()[-1]) == (
        1,
        f"EFA installer {VERSION}: {KEY} cannot be downloaded",
    )
    assert node.stand_ins.log() == DOWNLOADS[:1]
    node.publish(by_name["pinned"])
    assert node.run(str(node.parts[1]), "install").returncode == 0
    assert node.stand_ins.log() == [*DOWNLOADS, RAN]
