"""The code that runs on the nodes, as one zip application in S3."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

MNP = Path(__file__).parent.parent / "mnp"
MAIN = "from mnp.node.__main__ import main\n\nraise SystemExit(main())\n"
# The start of time for zip files: equal code must make an equal archive, whenever it was checked out.
EPOCH = (1980, 1, 1, 0, 0, 0)


class NodeCode(Construct):
    """`python3 <zip> smoke` runs on every node; `fetch_source` is the program that gets it there."""

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, id_)
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "mnp-node.zip")
            write_zip_application(archive)
            self.asset = s3_assets.Asset(self, "Asset", path=str(archive))
        self.fetch_source = (MNP / "node" / "s3.py").read_text(encoding="utf-8")


def write_zip_application(target: Path) -> None:
    """Write the archive; equal sources make equal bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _members():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)


def _members() -> Iterator[tuple[str, str]]:
    yield "__main__.py", MAIN
    for source in (MNP / "__init__.py", *sorted((MNP / "node").rglob("*.py"))):
        yield source.relative_to(MNP.parent).as_posix(), source.read_text(encoding="utf-8")
