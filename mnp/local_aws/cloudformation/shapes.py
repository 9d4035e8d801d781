"""Properties of a template turned into parameters of an API call, guided by botocore's model of the API.

CloudFormation names properties in PascalCase, some APIs in camelCase; templates carry numbers and booleans as text.
"""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.errors import ResourceError


def to_api(value: Any, shape: Any, *, path: str = "") -> Any:
    """Return `value` named and typed as the botocore `shape` wants it.

    Raises:
        ResourceError: The shape has no such member, or the value cannot have the shape's type.
    """
    match shape.type_name:
        case "structure":
            return _structure(value, shape, path)
        case "list":
            entries = value if isinstance(value, list) else [value]
            return [to_api(entry, shape.member, path=f"{path}[{i}]") for i, entry in enumerate(entries)]
        case "map":
            return {key: to_api(entry, shape.value, path=f"{path}.{key}") for key, entry in value.items()}
        case type_name:
            return _scalar(value, type_name, path)


def _structure(value: Any, shape: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ResourceError(f"Model validation failed (#{path}: expected an object, got {value!r})")
    members = {_key(name): name for name in shape.members}
    result = {}
    for name, entry in value.items():
        member = members.get(_key(name))
        if member is None:
            raise ResourceError(f"Model validation failed (#{path}: extraneous key [{name}] is not permitted)")
        result[member] = to_api(entry, shape.members[member], path=f"{path}/{name}")
    return result


def _key(name: str) -> str:
    return name[:1].lower() + name[1:]


def _scalar(value: Any, type_name: str, path: str) -> Any:
    try:
        match type_name:
            case "integer" | "long":
                return int(value)
            case "float" | "double":
                return float(value)
            case "boolean":
                return value if isinstance(value, bool) else {"true": True, "false": False}[str(value).lower()]
            case "string":
                return str(value).lower() if isinstance(value, bool) else str(value)
            case _:
                return value
    except (TypeError, ValueError, KeyError):
        raise ResourceError(f"Model validation failed (#{path}: expected {type_name}, got {value!r})") from None
