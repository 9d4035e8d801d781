"""Errors that a person can act on, and the exit codes of `mnp`."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Part of the interface: scripts and CI read these."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


class CommandError(Exception):
    """Something that went wrong outside this program: shown as one message and its fix, without a traceback."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.fix = fix


class UsageError(CommandError):
    """What was asked for cannot be meant: a wrong option, name or file."""

    exit_code = ExitCode.USAGE
