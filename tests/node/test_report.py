"""What a run says: sizes, progress lines, table, result document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mnp.node import progress, shape, units
from mnp.node.card import Card
from mnp.node.identity import Identity
from mnp.node.progress import Arrival, Step
from mnp.node.rendezvous.roster import Roster
from mnp.node.smoke_test import result, table, verdict

IDENTITY = Identity("job-1", 2, 0, 0, 2, "10.0.0.1", "10.0.0.1", 18520)
ROSTER = Roster((Card(0, "10.0.0.1", "a"), Card(1, "10.0.0.2", "b")), 0, 29500)


@pytest.mark.parametrize(
    ("text", "size"), [("8", 8), ("64M", 2**26), ("1g", 2**30), ("16 MiB", 2**24), ("4KB", 4096), ("0", 0)]
)
def test_sizes_are_read_as_nccl_tests_reads_them(text: str, size: int) -> None:
    """K, M and G are powers of 1024."""
    assert units.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1.5G", "M", "8 bytes"])
def test_what_is_no_size_is_refused(text: str) -> None:
    """Anything else is refused with an example."""
    with pytest.raises(ValueError, match="such as 64M"):
        units.parse_size(text)


@pytest.mark.parametrize("size", [0, 1, 8, 1000, 1024, 1536, 2**20, 3 * 2**20 + 4, 2**33, 2**50])
def test_sizes_survive_writing_and_reading(size: int) -> None:
    """A size written for people is exact."""
    assert units.parse_size(units.format_size(size)) == size


@pytest.mark.parametrize(
    "event",
    [
        Arrival(3, 4, 2, "10.0.0.7"),
        Arrival(1, 1000, 0, "fe80::1"),
        Step(12, 27, 2**20, 610.0, 0.71),
        Step(1, 1, 12, 1.234e6, 0.0),
        Step(2, 3, 2**33, 0.5, 487.3),
    ],
)
def test_progress_lines_are_read_back(event: Arrival | Step, capsys: pytest.CaptureFixture[str]) -> None:
    """What a node writes as progress, the submitter's command reads."""
    progress.announce(event)
    assert progress.parse(capsys.readouterr().out) == event


def test_progress_lines_have_the_agreed_form() -> None:
    """The lines are those of the job contract."""
    assert progress.format_arrival(Arrival(3, 4, 2, "ip")) == "[mnp] rendezvous 3/4: node 2 (ip) is here"
    step = Step(12, 27, 2**20, 610.0, 0.71)
    assert progress.format_step(step) == "[mnp] all-reduce 12/27: 1 MiB  610 us  busbw 0.71 GB/s"


@pytest.mark.parametrize("line", ["", "step 1/2", "[mnp] failed: node 2 (ip): gone", "[mnp] all-reduce x"])
def test_other_lines_are_no_progress(line: str) -> None:
    """A line of the user's own is left alone."""
    assert progress.parse(line) is None


def _finished(**environ: str) -> dict[str, Any]:
    document = result.begin(IDENTITY, environ, shape.NodeShape("p5.48xlarge", 8, 32))
    result.add_nodes(document, ROSTER, None)
    row = {"size": 1024, "count": 256, "type": "float", "redop": "sum"}
    measured = {"time": 12.5, "alg_bw": 0.08, "bus_bw": 0.08, "nwrong": 0}
    evidence = [{"rank": rank, "node": rank, "local_rank": 0, "token": f"t{rank}"} for rank in range(2)]
    versions = {"torch": "2.13.0", "nccl": "2.30.7"}
    rows = [{**row, "in_place": measured}]
    result.add_measurement(document, {"config": {}, "versions": versions, "ranks": evidence, "results": rows})
    result.finish(document, verdict.judge(document))
    return document


def test_result_line_is_one_line_of_json() -> None:
    """The last line of the log holds the whole document."""
    document = _finished(MNP_SIMULATED="1")
    line = result.final_line(document)
    assert "\n" not in line
    assert line.startswith("MNP_RESULT {")
    assert json.loads(line[len("MNP_RESULT ") :]) == document


def test_document_holds_the_contracts_fields() -> None:
    """The document has the fields of schema version 1."""
    document = _finished(MNP_SIMULATED="1", MNP_CLUSTER="p5", AWS_REGION="us-east-1")
    assert list(document) == [
        *("schema_version", "kind", "cluster", "job_id", "attempt", "region", "started_at", "finished_at", "simulated"),
        *("config", "expected", "nodes", "ranks", "results", "verdict"),
    ]
    assert (document["cluster"], document["job_id"], document["attempt"]) == ("p5", "job-1", 2)
    assert document["expected"]["ranks"] == 2
    assert document["nodes"][1]["versions"] == {"torch": "2.13.0", "nccl": "2.30.7"}
    assert set(document["verdict"]) == {"status", "headline", "checks"}


def test_real_hardware_is_expected_to_bring_its_gpus() -> None:
    """Off the embedded AWS the number of ranks follows from the type, not from what the nodes say."""
    assert _finished()["expected"]["ranks"] == 16


def test_objects_are_named_by_cluster_time_and_job() -> None:
    """Results sort by time below the cluster's name."""
    document = {"cluster": "p5", "job_id": "abc", "started_at": "2026-11-21T06:08:04Z"}
    assert result.object_name(document) == "smoke/p5/20261121T060804Z-abc.json"


def test_table_shows_sizes_checks_and_verdict() -> None:
    """The table has a line per size, one per check with its fix if it fails, and the verdict at the end."""
    lines = table.render(_finished()).splitlines()
    row = next(line for line in lines if line.startswith("  "))
    assert row.split() == ["1024", "256", "float", "sum", "12.50", "0.08", "0.08", "0"]
    assert any(line.startswith("FAIL       participants: ") for line in lines)
    assert any(line.startswith("           fix: ") for line in lines)
    assert lines[-1].startswith("FAIL: ")
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"gpus": 8}', '{"instance_type": "p5", "gpus": "x", "efa_devices": 1}', "[1]"]
)
def test_unreadable_shape_is_refused(text: str) -> None:
    """A shape that cannot be understood is an error that shows it."""
    with pytest.raises(shape.ShapeError, match=r"MNP_NODE_SHAPE is .*want a JSON object with instance_type"):
        shape.from_environment({"MNP_NODE_SHAPE": text})
    assert shape.from_environment({}) is None
