"""CloudFormation's intrinsic functions, resolved strictly: a name that does not resolve is an error.

Reference: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
(checked 2026-11-21).
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from typing import TYPE_CHECKING, Any, Protocol

from mnp.local_aws.cloudformation.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SUBSTITUTION = re.compile(r"\$\{(!?)([^}]*)\}")


class _NoValue:
    """The value of AWS::NoValue: the property or list entry that holds it is left out."""


NO_VALUE = _NoValue()


class Scope(Protocol):
    """What the names in a template stand for."""

    def ref(self, name: str) -> Any: ...

    def get_att(self, logical_id: str, attribute: str) -> Any: ...

    def condition(self, name: str) -> bool: ...

    def find_in_map(self, keys: list[str]) -> Any: ...

    def import_value(self, name: str) -> Any: ...

    def availability_zones(self, region: str) -> list[str]: ...

    def dynamic_reference(self, text: str) -> str: ...


def resolve(value: Any, scope: Scope) -> Any:
    """Return `value` with every intrinsic function replaced by what it stands for.

    Raises:
        TemplateError: A name does not resolve, or a function is unknown or ill-formed.
    """
    if isinstance(value, list):
        entries = (resolve(entry, scope) for entry in value)
        return [entry for entry in entries if entry is not NO_VALUE]
    if isinstance(value, str):
        return scope.dynamic_reference(value) if "{{resolve:" in value else value
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, argument), *_ = value.items()
        if name in _FUNCTIONS and (name.startswith("Fn::") or isinstance(argument, str)):
            return _FUNCTIONS[name](argument, scope)
        if name.startswith("Fn::"):
            raise TemplateError(f"Template error: the function {name} is not modelled by the embedded AWS")
    resolved = {key: resolve(entry, scope) for key, entry in value.items()}
    return {key: entry for key, entry in resolved.items() if entry is not NO_VALUE}


def references(value: Any) -> Iterator[str]:
    """Yield every name that `value` refers to by Ref, Fn::GetAtt or Fn::Sub."""
    if isinstance(value, list):
        for entry in value:
            yield from references(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            if key == "Ref" and isinstance(entry, str):
                yield entry
            elif key == "Fn::GetAtt":
                yield entry.split(".")[0] if isinstance(entry, str) else entry[0]
            elif key == "Fn::Sub":
                yield from _sub_references(entry)
            else:
                yield from references(entry)


def _sub_references(argument: Any) -> Iterator[str]:
    text, names = argument if isinstance(argument, list) else (argument, {})
    for literal, name in _SUBSTITUTION.findall(text):
        if not literal and name not in names:
            yield name.split(".")[0]
    yield from references(names)


def _ref(argument: Any, scope: Scope) -> Any:
    return scope.ref(argument)


def _get_att(argument: Any, scope: Scope) -> Any:
    logical_id, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
    return scope.get_att(logical_id, resolve(attribute, scope))


def _join(argument: Any, scope: Scope) -> str:
    separator, values = argument
    return str(separator).join(_text(entry) for entry in resolve(values, scope))


def _split(argument: Any, scope: Scope) -> list[str]:
    separator, text = argument
    return str(resolve(text, scope)).split(separator)


def _select(argument: Any, scope: Scope) -> Any:
    index, values = int(resolve(argument[0], scope)), resolve(argument[1], scope)
    if not 0 <= index < len(values):
        raise TemplateError(f"Template error: Fn::Select cannot select element {index} of {len(values)}")
    return values[index]


def _sub(argument: Any, scope: Scope) -> str:
    text, names = argument if isinstance(argument, list) else (argument, {})

    def replacement(match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal:
            return "${" + name + "}"
        if name in names:
            return _text(resolve(names[name], scope))
        if "." in name:
            return _text(scope.get_att(*name.split(".", 1)))
        return _text(scope.ref(name))

    return _SUBSTITUTION.sub(replacement, text)


def _if(argument: Any, scope: Scope) -> Any:
    condition, when_true, when_false = argument
    return resolve(when_true if scope.condition(condition) else when_false, scope)


def _cidr(argument: Any, scope: Scope) -> list[str]:
    block, count, *bits = resolve(argument, scope)
    network = ipaddress.ip_network(block)
    host_bits = int(bits[0]) if bits else 8
    blocks = network.subnets(new_prefix=network.max_prefixlen - host_bits)
    return [str(subnet) for subnet, _ in zip(blocks, range(int(count)), strict=False)]


def _equals(argument: Any, scope: Scope) -> bool:
    left, right = resolve(argument, scope)
    return _text(left) == _text(right)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_FUNCTIONS: dict[str, Callable[[Any, Scope], Any]] = {
    "Ref": _ref,
    "Condition": lambda argument, scope: scope.condition(argument),
    "Fn::GetAtt": _get_att,
    "Fn::Join": _join,
    "Fn::Split": _split,
    "Fn::Select": _select,
    "Fn::Sub": _sub,
    "Fn::If": _if,
    "Fn::And": lambda argument, scope: all(resolve(entry, scope) for entry in argument),
    "Fn::Or": lambda argument, scope: any(resolve(entry, scope) for entry in argument),
    "Fn::Not": lambda argument, scope: not resolve(argument[0], scope),
    "Fn::Equals": _equals,
    "Fn::Cidr": _cidr,
    "Fn::Base64": lambda argument, scope: base64.b64encode(resolve(argument, scope).encode()).decode(),
    "Fn::FindInMap": lambda argument, scope: scope.find_in_map(resolve(argument, scope)),
    "Fn::GetAZs": lambda argument, scope: scope.availability_zones(resolve(argument, scope)),
    "Fn::ImportValue": lambda argument, scope: scope.import_value(resolve(argument, scope)),
    "Fn::ToJsonString": lambda argument, scope: json.dumps(resolve(argument, scope)),
}
