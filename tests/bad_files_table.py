"""Cluster files that must be refused: those in bad_files/, and those that cannot be kept as text."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "bad_files"
MARK = "# expect: "

# Files without room for a comment: what is in them, and what the message must say.
UNREADABLE: dict[str, tuple[bytes | None, str]] = {
    "missing.yaml": (None, "cannot be read: No such file or directory"),
    "empty.yaml": (b"", "an empty file"),
    "binary.yaml": (bytes(range(128, 256)) * 40, "not text in UTF-8"),
    "null-bytes.yaml": (b"name: a\x00b\n", "not valid YAML"),
    "huge.yaml": (b"# " + b"x" * 2_000_000, "over a megabyte"),
    "deep.yaml": (b"[" * 5000, "not valid YAML"),
    "itself.yaml": (b"&a [*a]", "not a cluster file"),
    "scalar.yaml": (b"p5.48xlarge", "not a cluster file"),
}


def expectations(file: Path) -> list[str]:
    """What the message about the file must say, from the comments at its head."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]


def all_bad_files(folder: Path) -> dict[Path, list[str]]:
    """Every bad file with what its message must say; those without room for a comment are written into the folder."""
    files = {file: expectations(file) for file in sorted(FOLDER.glob("*.yaml"))}
    for name, (content, message) in UNREADABLE.items():
        file = folder / name
        if content is not None:
            file.write_bytes(content)
        files[file] = [message]
    return files
