from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mnp.cluster.contract import Contract, output_name, parameter_name, variable_name

# Written when version 1 was made, and never changed since: what a cluster of then has in its parameter.
VERSION_1 = json.loads(Path(__file__).with_name("contract-v1.json").read_text(encoding="utf-8"))


def test_a_contract_of_version_1_reads_for_ever() -> None:
    """A cluster deployed with an older version of the package can still be used."""
    contract = Contract.model_validate(VERSION_1)
    assert _holds(contract.model_dump(), VERSION_1)


def test_fields_of_a_newer_minor_version_are_ignored() -> None:
    """New fields may come within a version; an older reader does not stumble over them."""
    newer = VERSION_1 | {"invented_later": 1, "node": VERSION_1["node"] | {"invented_later": 1}}
    assert Contract.model_validate(newer) == Contract.model_validate(VERSION_1)


def test_output_names_are_what_cloudformation_takes_and_all_differ() -> None:
    """Every value has an output of its own, with a name of letters and digits."""
    paths = [path for path, _ in Contract.model_validate(VERSION_1).flat()]
    names = [output_name(path) for path in paths]
    assert all(re.fullmatch(r"[A-Za-z0-9]{1,255}", name) for name in names)
    assert len(set(names)) == len(names)


def test_nested_values_have_their_path_in_the_name() -> None:
    """The node's shape is told flat, under names that say what they belong to."""
    assert output_name(("node", "efa_devices")) == "NodeEfaDevices"
    assert variable_name(("node", "efa_devices")) == "MNP_NODE_EFA_DEVICES"
    assert parameter_name("p5") == "/mnp/p5"


def _holds(document: dict[str, Any], part: dict[str, Any]) -> bool:
    """Whether everything of the part is in the document, with the same values."""
    return all(
        _holds(document[key], value) if isinstance(value, dict) else document[key] == value
        for key, value in part.items()
    )
