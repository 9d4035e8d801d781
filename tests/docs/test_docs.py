from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.synth import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def test_the_reference_of_the_cluster_file_is_what_its_script_writes() -> None:
    """The reference page says what the model says."""
    command = [sys.executable, str(ROOT / "tools" / "write_cluster_file_reference.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    """No page sends its reader to a file that is not there."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """A path in code type is a path in the repository."""
    folders = "mnp|stacks|launch_templates|examples|docs|tools|benchmarks"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text(encoding="utf-8"))
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_that_a_page_names_are_in_the_makefile(page: Path) -> None:
    """`make demo` in the README is a target that make knows."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    code = re.findall(r"`[^`]+`|```.*?```", page.read_text(encoding="utf-8"), re.DOTALL)
    named = set(re.findall(r"\bmake ([a-z][a-z-]*)\b", " ".join(code)))
    assert not [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
