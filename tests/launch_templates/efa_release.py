"""An EFA installer to download, signed with real GnuPG by a key of the test's own in the place of AWS's."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from launch_templates.user_data import script

KEY = "aws-efa-installer.key"
_TEXT = script("efa-installer.sh")
VERSION = re.findall(r"(?m)^version=([0-9.]+)$", _TEXT)[0]
FINGERPRINT = re.findall(r"(?m)^fingerprint=([0-9A-F]{40})$", _TEXT)[0]
TARBALL = f"aws-efa-installer-{VERSION}.tar.gz"
# AWS's own writes this file too: its version, and the packages.
INSTALLER = """\
#!/bin/bash
echo "efa_installer.sh $*" >>{state}/log
mkdir -p "$(dirname {packages})"
printf '# EFA installer version: %s\\n# Debug packages installed: no\\nefa-3.3.1\\n' {version} >{packages}
"""


@dataclass(frozen=True)
class Key:
    """A key pair in the GnuPG folder `home`; `past` is the time at which it is used."""

    home: Path
    fingerprint: str
    past: str | None = None

    def sign(self, data: bytes) -> bytes:
        return _gpg(self.home, "--detach-sign", "--local-user", self.fingerprint, data=data, past=self.past)

    def public(self, *others: Key) -> bytes:
        fingerprints = [key.fingerprint for key in (self, *others)]
        return _gpg(self.home, "--armor", "--export", *fingerprints)


@contextmanager
def keys() -> Iterator[dict[str, Key]]:
    """By name: `pinned`, `pinned with a subkey`, `other`, and `expired`, whose signature is older than its end."""
    # Not in pytest's folder: the path of GnuPG's socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="gpg-") as folder:
        home = Path(folder)
        made = {name: _make(home, name) for name in ("pinned", "pinned with a subkey", "other")}
        _gpg(home, "--quick-add-key", made["pinned with a subkey"].fingerprint, "ed25519", "sign", "never")
        made["expired"] = _make(home, "expired", past="20200101T000000", lifetime="1d")
        yield made
        subprocess.run(["gpgconf", "--homedir", folder, "--kill", "all"], check=True)


def _make(home: Path, name: str, *, past: str | None = None, lifetime: str = "never") -> Key:
    status = _gpg(home, "--status-fd", "1", "--quick-generate-key", name, "ed25519", "sign", lifetime, past=past)
    return Key(home, status.decode().split("KEY_CREATED P ")[1].split()[0], past)


def _gpg(home: Path, *arguments: str, data: bytes = b"", past: str | None = None) -> bytes:
    options = ["--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    options += ["--faked-system-time", past] if past else []
    command = ["gpg", *options, *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def is_gpg_here() -> bool:
    return all(shutil.which(command) for command in ("gpg", "gpg-agent", "gpgconf"))


def pinned_to(text: str, key: Key) -> str:
    """A text with efa-installer.sh in it, with another key in the place of AWS's: nothing else can change that."""
    assert text.count(FINGERPRINT) == 1
    return text.replace(FINGERPRINT, key.fingerprint)


def tarball(*, state: Path, packages: Path, installer: str = INSTALLER) -> bytes:
    """The tarball, with an installer that writes into `state`/log that it ran, and into `packages` as AWS's does."""
    text = installer.format(state=state, packages=packages, version=VERSION).encode()
    member = tarfile.TarInfo("aws-efa-installer/efa_installer.sh")
    member.mode, member.size = 0o755, len(text)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(member, io.BytesIO(text))
    return buffer.getvalue()


def publish(folder: Path, *, tarball: bytes, signature: bytes, key: bytes) -> None:
    """What AWS has to download."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TARBALL).write_bytes(tarball)
    (folder / f"{TARBALL}.sig").write_bytes(signature)
    (folder / KEY).write_bytes(key)
