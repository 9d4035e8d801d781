"""Read a cluster file: every mistake in one go, each with its line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from mnp.cluster import rules
from mnp.cluster.ami import AmiParameter, PrebakedAmi
from mnp.cluster.capacity import CapacityBlock, Reservation
from mnp.cluster.model import Cluster
from mnp.cluster.problems import ClusterFileError, Problem, shown
from mnp.cluster.vpc import ExistingVpc, NewVpc, SharedVpc

# A cluster file is a page; a megabyte of it is a wrong path.
MOST_BYTES = 1_000_000
_TAGGED: Mapping[str, type[BaseModel]] = {
    "Reservation": Reservation,
    "CapacityBlock": CapacityBlock,
    "new": NewVpc,
    "shared": SharedVpc,
    "existing": ExistingVpc,
    "AmiParameter": AmiParameter,
    "PrebakedAmi": PrebakedAmi,
}
_KINDS = {
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
}
_SENTENCES = {
    "string_pattern_mismatch": "not in the form that is allowed",
    "literal_error": "not one of the known words",
    "greater_than_equal": "too small",
    "less_than_equal": "too large",
    "too_long": "too many",
    "too_short": "too few",
}


@dataclass(frozen=True)
class ClusterFile:
    """A cluster that may be built, and what its author should know."""

    path: str
    cluster: Cluster
    warnings: tuple[Problem, ...]


def load(path: str | Path) -> ClusterFile:
    """Read and check a cluster file.

    Raises:
        ClusterFileError: with every mistake found, or the one that kept the file from being read.
    """
    name = str(path)
    text = _text(Path(path), name)
    content, lines = _parsed(text, name)
    cluster, problems = _checked(content)
    problems = [replace(problem, line=_line(lines, problem.key)) for problem in problems]
    if cluster is None or any(problem.level == "error" for problem in problems):
        raise ClusterFileError(name, sorted(problems, key=lambda each: (each.level != "error", each.line or 0)))
    return ClusterFile(name, cluster, tuple(problems))


def _text(path: Path, name: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        fix = "cp examples/p5.yaml cluster.yaml, or choose a file with -c cluster=FILE"
        message = f"cannot be read: {error.strerror}"
        raise ClusterFileError(name, [Problem(message=message, fix=fix)]) from None
    if len(content) > MOST_BYTES:
        raise ClusterFileError(name, [Problem(message="over a megabyte: not a cluster file")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ClusterFileError(
            name, [Problem(message=f"not text in UTF-8 (byte {error.start}): a binary file?")]
        ) from None
    return text


def _parsed(text: str, name: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The mapping in the file, and the line of each dotted key."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[str, int] = {}
        duplicates = list(_walk(root, "", lines)) if root is not None else []
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ClusterFileError(name, [_syntax_problem(error)]) from None
    if duplicates:
        raise ClusterFileError(name, duplicates)
    if not isinstance(content, dict):
        got = "an empty file" if content is None else type(content).__name__
        problem = Problem(message="not a cluster file", got=got, allowed="a mapping of keys, `name: p5-training`")
        raise ClusterFileError(name, [problem])
    return {str(key): value for key, value in content.items()}, lines


def _syntax_problem(error: yaml.YAMLError | RecursionError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or "nested too deep, or refers to itself"
    return Problem(message=f"not valid YAML: {what}", line=mark.line + 1 if mark else None)


def _walk(node: yaml.Node, key: str, lines: dict[str, int]) -> Iterator[Problem]:
    """Note the line of every key; PyYAML itself would let the last of two equal keys win in silence."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key_node, value_node in node.value:
        dotted = f"{key}.{key_node.value}" if key else str(key_node.value)
        line = key_node.start_mark.line + 1
        if dotted in lines:
            yield Problem(key=dotted, message=f"stands twice, first in line {lines[dotted]}", line=line)
        lines.setdefault(dotted, line)
        yield from _walk(value_node, dotted, lines)


def _line(lines: Mapping[str, int], key: str) -> int | None:
    """The line of the key, else of the nearest key around it."""
    while key:
        if key in lines:
            return lines[key]
        key = key.rpartition(".")[0]
    return None


def _checked(content: dict[str, Any]) -> tuple[Cluster | None, list[Problem]]:
    try:
        cluster = Cluster.model_validate(content)
    except ValidationError as error:
        problems = [_problem(detail) for detail in error.errors(include_url=False)]
        return None, problems + rules.check(_valid_values(content))
    values = {name: getattr(cluster, name) for name in Cluster.model_fields}
    return cluster, rules.check(values)


def _valid_values(content: dict[str, Any]) -> dict[str, Any]:
    """The keys that are right by themselves, and the defaults of those left out."""
    valid = {}
    for name, field in Cluster.model_fields.items():
        if name not in content:
            if not field.is_required():
                valid[name] = field.get_default(call_default_factory=True, validated_data={})
            continue
        adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type] # built at run time
        try:
            valid[name] = adapter.validate_python(content[name])
        except ValidationError:
            continue
    return valid


def _problem(detail: ErrorDetails) -> Problem:
    """One of pydantic's errors in our words."""
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    model, path = _place(detail["loc"])
    key, allowed = ".".join(path), _description(model, path)
    if kind == "missing":
        return Problem(key=key, message="required, but not there", allowed=allowed)
    if kind == "extra_forbidden":
        return _unknown_key(model, key, path[-1])
    if kind == "mnp":
        return Problem(
            key=key, message=detail["msg"], got=shown(value), **{n: text for n, text in context.items() if text}
        )
    if kind == "literal_error" and path != ["capacity"]:
        allowed = str(context["expected"])
    return Problem(
        key=key, message=_sentence(kind, detail["msg"]), got=f"{shown(value)}{_type_note(kind, value)}", allowed=allowed
    )


def _place(location: tuple[int | str, ...]) -> tuple[type[BaseModel], list[str]]:
    """The model that a location lies in, and the location in the file's own keys (pydantic adds union tags)."""
    model: type[BaseModel] = Cluster
    inner: type[BaseModel] | None = None
    path: list[str] = []
    for part in location:
        model, inner = inner or model, None
        if path and str(part) in _TAGGED:
            model = _TAGGED[str(part)]
        elif str(part) not in {"Word", "ImageId", "[key]"}:
            path.append(str(part))
            inner = _model_of(model, str(part))
    return model, path


def _model_of(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of a field that is a mapping with keys of its own and without alternatives."""
    field = model.model_fields.get(name)
    annotation = field.annotation if field else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _description(model: type[BaseModel], path: list[str]) -> str | None:
    names = [part for part in path if part in model.model_fields]
    return model.model_fields[names[-1]].description if names else None


def _unknown_key(model: type[BaseModel], key: str, last: str) -> Problem:
    near = difflib.get_close_matches(last, model.model_fields, n=1)
    return Problem(
        key=key,
        message="unknown key",
        allowed=", ".join(model.model_fields),
        fix=f"did you mean {near[0]}?" if near else None,
    )


def _sentence(kind: str, message: str) -> str:
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}"
    return _SENTENCES.get(kind) or message[0].lower() + message[1:]


def _type_note(kind: str, value: Any) -> str:
    names = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "a mapping"}
    return f" ({names.get(type(value), 'nothing')})" if kind in _KINDS else ""
