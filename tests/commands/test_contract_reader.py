"""What is said of a parameter that holds no contract that this version reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnp.commands.contract_reader import parse_contract
from mnp.commands.errors import CommandError
from tests.commands.example_contract import example_contract

GOOD: dict[str, Any] = example_contract().model_dump()


def test_fields_of_later_minor_versions_are_ignored() -> None:
    """A contract with a field that we do not know is read as if it were not there."""
    assert parse_contract("/mnp/demo", json.dumps({**GOOD, "colour": "blue"})) == example_contract()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "is not JSON"),
        ("[]", "is not a cluster's contract"),
        (json.dumps({**GOOD, "schema_version": 2}), "schema_version 2; this mnp reads up to 1"),
        (json.dumps({key: each for key, each in GOOD.items() if key != "queue_arn"}), "queue_arn: Field required"),
    ],
)
def test_what_is_wrong_is_said(value: str, said: str) -> None:
    """The message names the parameter and the mistake, and there is a fix."""
    with pytest.raises(CommandError, match="SSM parameter /mnp/demo") as caught:
        parse_contract("/mnp/demo", value)
    assert said in str(caught.value)
    assert caught.value.fix
