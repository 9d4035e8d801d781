"""The values of a template's parameters.

Reference: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
(checked 2026-11-21).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import botocore.exceptions

from mnp.local_aws.cloudformation.errors import TemplateError

if TYPE_CHECKING:
    from mnp.local_aws.clients import Clients

_SSM_TYPE = re.compile(r"AWS::SSM::Parameter::Value<(.*)>")


def parameter_values(template: dict[str, Any], given: dict[str, Any], clients: Clients, region: str) -> dict[str, Any]:
    """Return the value of every parameter of the template, SSM parameters looked up.

    Raises:
        TemplateError: A parameter is missing, unknown, not among the allowed values, or names no SSM parameter.
    """
    declared = template.get("Parameters", {})
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise TemplateError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    without_value = [name for name, spec in declared.items() if given.get(name, spec.get("Default")) is None]
    if without_value:
        raise TemplateError(f"Parameters: [{', '.join(without_value)}] must have values")
    return {
        name: _value(name, spec, given.get(name, spec.get("Default")), clients, region)
        for name, spec in declared.items()
    }


def _value(name: str, spec: dict[str, Any], value: Any, clients: Clients, region: str) -> Any:
    allowed = spec.get("AllowedValues")
    if allowed is not None and str(value) not in map(str, allowed):
        raise TemplateError(f"Parameter {name} must be one of {allowed}, not {value!r}")
    kind = spec.get("Type", "String")
    ssm = _SSM_TYPE.fullmatch(kind)
    if ssm:
        kind, value = ssm.group(1), _ssm_value(name, str(value), clients, region)
    if kind == "CommaDelimitedList" or kind.startswith("List<"):
        return [part.strip() for part in str(value).split(",")]
    return str(value)


def _ssm_value(name: str, path: str, clients: Clients, region: str) -> str:
    try:
        return str(clients.get("ssm", region).get_parameter(Name=path)["Parameter"]["Value"])
    except botocore.exceptions.ClientError as error:
        raise TemplateError(
            f"Unable to fetch parameters [{path}] from parameter store for parameter {name}: {error}"
        ) from error
