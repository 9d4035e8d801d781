"""Findings of cdk-nag and of the CDK's validation that are meant so: each with its reason, on the one resource."""

from __future__ import annotations

from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, reason: str, *findings: str) -> None:
    """Acknowledge findings of the AwsSolutions pack, `AwsSolutions-S1` say.

    The prefix keeps them in validation-report.json as suppressed; without it they would vanish from the record.
    """
    _acknowledge(construct, reason, *(f"AwsSolutions::{finding}" for finding in findings))


def acknowledge_template_rule(construct: IConstruct, reason: str, *rules: str) -> None:
    """Acknowledge findings of the CDK's own template validation, `W3010` say."""
    _acknowledge(construct, reason, *(f"CloudFormation-Validate::{rule}" for rule in rules))


def _acknowledge(construct: IConstruct, reason: str, *ids: str) -> None:
    Validations.of(construct).acknowledge(*(Acknowledgment(id=each, reason=reason) for each in ids))


def acknowledge_wildcards(construct: IConstruct, reason: str, *resources: str) -> None:
    """Acknowledge that a policy of the construct names these ARNs, which hold a wildcard; no other is covered."""
    stack = Stack.of(construct)
    acknowledge(
        construct, reason, *(f"AwsSolutions-IAM5[Resource::{_as_written(stack.resolve(arn))}]" for arn in resources)
    )


def _as_written(resolved: Any) -> str:
    """A resolved value as cdk-nag writes it in a finding: <Ref>, <LogicalId.Attribute>, joins run together."""
    match resolved:
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Join": ["", parts]}:
            return "".join(_as_written(part) for part in parts)
    return str(resolved)
