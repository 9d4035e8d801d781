"""Where the cluster's secret comes from."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mnp.node import job, secret
from mnp.node.identity import Identity
from mnp.node.limits import Limits
from mnp.node.rendezvous.assembly import RendezvousError
from mnp.node.secret import SecretError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "secret"
    found.write_text("correct horse\n")
    found.chmod(0o600)
    return found


def test_the_secret_is_in_the_environment_or_in_a_file(file: Path) -> None:
    """Both ways lead to the same secret; without either there is none."""
    assert (
        secret.read({"MNP_SECRET": "correct horse"}) == secret.read({"MNP_SECRET_FILE": str(file)}) == "correct horse"
    )
    assert secret.read({}) is None
    assert secret.read({"MNP_SECRET": "", "MNP_SECRET_FILE": ""}) is None


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o606])
def test_a_file_that_everybody_can_read_is_refused(file: Path, mode: int) -> None:
    """A secret that any user of the host could read or replace guards nothing."""
    file.chmod(mode)
    with pytest.raises(SecretError, match=f"has mode {mode:04o}.*chmod 600"):
        secret.read({"MNP_SECRET_FILE": str(file)})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b" \n", "has 2 bytes; allowed: 1 to 4096, not blank"),
        (b"x" * 5000, "allowed: 1 to 4096"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_file_without_a_secret_is_refused(file: Path, content: bytes, expected: str) -> None:
    """Nothing, too much or no text is no secret."""
    file.write_bytes(content)
    with pytest.raises(SecretError, match=expected):
        secret.read({"MNP_SECRET_FILE": str(file)})


def test_a_secret_that_cannot_be_had_ends_the_node_at_the_rendezvous(file: Path) -> None:
    """A missing file, or two secrets, is an error of this node that names the file."""
    node = Identity("job", 1, 1, 0, 2, "127.0.0.1", "127.0.0.1", 1)
    for environ, expected in (
        ({"MNP_SECRET_FILE": f"{file}.old"}, "secret.old cannot be read: No such file"),
        ({"MNP_SECRET_FILE": str(file), "MNP_SECRET": "x"}, "are both set: unset one"),
    ):
        with pytest.raises(RendezvousError, match=expected) as raised:
            asyncio.run(job.assemble(node, environ, Limits()))
        assert raised.value.node == 1
