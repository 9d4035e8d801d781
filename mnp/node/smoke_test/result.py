"""The result document of a smoke test, schema version 1."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from ..progress import RESULT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..identity import Identity
    from ..rendezvous.roster import Roster
    from ..shape import NodeShape
    from .verdict import Verdict

SCHEMA_VERSION = 1

Document = dict[str, Any]


def begin(identity: Identity, environ: Mapping[str, str], shape: NodeShape | None) -> Document:
    """The document before anything has happened: what is run and what is expected."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "smoke",
        "cluster": environ.get("MNP_CLUSTER") or "local",
        "job_id": identity.job_id,
        "attempt": identity.attempt,
        "region": environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"),
        "started_at": _now(),
        "finished_at": None,
        "simulated": environ.get("MNP_SIMULATED") == "1",
        "config": {},
        "expected": {
            "nodes": identity.count,
            "ranks": None,
            "instance_type": shape.instance_type if shape else None,
            "gpus_per_node": shape.gpus if shape else None,
            "efa_devices_per_node": shape.efa_devices if shape else None,
            "neuron_devices_per_node": shape.neuron_devices if shape else None,
        },
        "nodes": [],
        "ranks": [],
        "results": [],
        "verdict": None,
    }


def add_nodes(document: Document, roster: Roster, ranks_per_node: int | None) -> None:
    """Who came to the rendezvous, and how many ranks that should make.

    On real hardware a node is expected to bring the GPUs of its type; elsewhere what it has, at least one rank.
    """
    document["nodes"] = [card.as_document() for card in roster.cards]
    expected = document["expected"]
    wanted = None if document["simulated"] else expected["gpus_per_node"]
    each = (ranks_per_node or wanted or max(1, len(card.gpus)) for card in roster.cards)
    expected["ranks"] = sum(each)


def add_measurement(document: Document, measured: Mapping[str, Any]) -> None:
    """What the all-reduce's rank 0 wrote."""
    for key in ("config", "ranks", "results"):
        document[key] = measured[key]
    for node in document["nodes"]:
        node["versions"] = {**measured["versions"], **node["versions"]}


def finish(document: Document, verdict: Verdict) -> None:
    """Close the document with its verdict."""
    document["finished_at"] = _now()
    document["verdict"] = verdict.as_document()


def object_name(document: Document) -> str:
    """The document's place below the results prefix, in order of time."""
    stamp = document["started_at"].replace("-", "").replace(":", "")
    return f"smoke/{document['cluster']}/{stamp}-{document['job_id']}.json"


def final_line(document: Document) -> str:
    """The last line of the main node's log."""
    return RESULT_PREFIX + json.dumps(document, separators=(",", ":"))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
