"""The command as a whole: help, verbs, lazy imports."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest
import typer

from mnp import __version__
from mnp.commands.main import VERBS
from tests.commands.command_line import CommandLine


def test_help_names_every_verb_and_every_exit_code(mnp: CommandLine) -> None:
    """`mnp --help` tells a stranger what there is and what the exit codes mean."""
    done = mnp("--help")
    assert done.returncode == 0
    assert all(f"\n  {verb} " in done.stdout for verb in VERBS)
    assert all(f"\n    {code} " in done.stdout for code in (0, 1, 2, 130))


def test_version_is_the_packages(mnp: CommandLine) -> None:
    """`mnp --version` prints the version on standard output."""
    done = mnp("--version")
    assert (done.returncode, done.stdout) == (0, f"mnp {__version__}\n")


def test_an_unknown_verb_is_a_usage_error(mnp: CommandLine) -> None:
    """A mistyped verb ends with 2 and names the likely one."""
    done = mnp("smok")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'smoke'" in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_says_what_the_verb_itself_says(verb: str) -> None:
    """A verb's own help begins with its line in `mnp --help`."""
    command = typer.main.get_command(import_module(f"mnp.commands.{verb}").app)
    assert (command.help or "").startswith(VERBS[verb].removesuffix("."))


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"]])
def test_offline_verbs_load_no_aws_library(arguments: list[str]) -> None:
    """Help and `mnp check` import neither boto3 nor moto, so that they answer at once and work anywhere."""
    program = (
        "import sys\n"
        "from mnp.commands.main import main\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "try:\n    main()\n"
        "finally:\n    print('loaded:', {'boto3', 'botocore', 'moto'} & set(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "loaded: set()" in done.stderr
