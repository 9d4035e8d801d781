"""Component documents, checked as the component manager does before it runs one.

https://docs.aws.amazon.com/imagebuilder/latest/userguide/toe-use-documents.html and
https://docs.aws.amazon.com/imagebuilder/latest/userguide/toe-action-modules.html, checked 2026-11-21.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from mnp.local_aws.image_builder.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

PHASES = ("build", "validate", "test", "container-host-test")
ACTIONS = frozenset(
    (
        "AppendFile", "Assert", "CopyFile", "CopyFolder", "CreateFile", "CreateFolder", "CreateSymlink", "DeleteFile",
        "DeleteFolder", "ExecuteBash", "ExecuteBinary", "ExecuteDocument", "ExecutePowerShell", "InstallMSI",
        "ListFiles", "MoveFile", "MoveFolder", "ReadFile", "Reboot", "S3Download", "S3Upload", "SetFileEncoding",
        "SetFileOwner", "SetFilePermissions", "SetFolderOwner", "SetFolderPermissions", "SetRegistry", "UninstallMSI",
        "UpdateOS", "WebDownload",
    )
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ -]*")


def check_document(text: str) -> None:
    """Refuse a document that could not be run.

    Raises:
        InvalidParameterError: It is not YAML, or not a component document; the message says where.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidParameterError(f"The component document is not valid YAML: {error}") from None
    for problem in _problems(document):
        raise InvalidParameterError(f"The component document is not valid: {problem}")


def _problems(document: Any) -> Iterator[str]:
    if not isinstance(document, dict):
        yield "it is not a mapping"
        return
    if str(document.get("schemaVersion")) not in {"1.0", "1"}:
        yield f"schemaVersion {document.get('schemaVersion')!r} is not 1.0"
    phases = document.get("phases")
    if not isinstance(phases, list) or not phases:
        yield "it has no phases"
        return
    names = [phase.get("name") for phase in phases if isinstance(phase, dict)]
    if unknown := [name for name in names if name not in PHASES]:
        yield f"the phase {unknown[0]!r} is none of {', '.join(PHASES)}"
    if len(set(names)) < len(phases):
        yield "a phase stands twice, or has no name"
    for phase in phases:
        yield from _steps(str(phase["name"]), phase.get("steps"))


def _steps(phase: str, steps: Any) -> Iterator[str]:
    if not isinstance(steps, list) or not steps:
        yield f"the phase {phase!r} has no steps"
        return
    names = [str(step.get("name")) for step in steps]
    if len(set(names)) < len(names):
        yield f"a step of the phase {phase!r} stands twice"
    for name, step in zip(names, steps, strict=True):
        if not _NAME.fullmatch(name):
            yield f"{name!r} is no name for a step"
        if step.get("action") not in ACTIONS:
            yield f"the step {name!r} has the unknown action {step.get('action')!r}"
        if not step.get("inputs") and step.get("action") not in {"Reboot", "UpdateOS"}:
            yield f"the step {name!r} has no inputs"
