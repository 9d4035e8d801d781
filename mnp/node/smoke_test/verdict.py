"""From a result document to a verdict: pure functions, one per check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..units import format_size
from . import baselines

PASS, DEGRADED, FAIL, NOT_GRADED = "PASS", "DEGRADED", "FAIL", "NOT_GRADED"
SIMULATED = "embedded AWS: no GPUs and no EFA here"
_NO_SHAPE = "MNP_NODE_SHAPE is not set: nobody said what a node should be"

Document = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One thing looked at: its status, what was seen, and what to do about it ("" if nothing)."""

    name: str
    status: str
    message: str
    fix: str = ""


@dataclass(frozen=True)
class Verdict:
    """The overall status, one sentence, and the checks behind it."""

    status: str
    headline: str
    checks: tuple[Check, ...]

    def as_document(self) -> Document:
        """The verdict as the result document holds it."""
        return {"status": self.status, "headline": self.headline, "checks": [asdict(check) for check in self.checks]}


def judge(document: Document) -> Verdict:
    """The verdict on a finished run."""
    checks = (
        check_participants(document),
        check_node_shape(document),
        check_values(document),
        check_provider(document),
        check_bandwidth(document),
    )
    status = overall(checks)
    return Verdict(status, _headline(document, status, checks), checks)


def failed(cause: str, fix: str = "") -> Verdict:
    """The verdict on a run that ended before there was anything to judge."""
    return Verdict(FAIL, cause, (Check("run", FAIL, cause, fix),))


def overall(checks: tuple[Check, ...]) -> str:
    """FAIL if any check fails, else DEGRADED if any is, else NOT_GRADED if any is, else PASS."""
    statuses = {check.status for check in checks}
    return next((status for status in (FAIL, DEGRADED, NOT_GRADED) if status in statuses), PASS)


def check_participants(document: Document) -> Check:
    """Whether every expected node and rank took part in the all-reduce, each with a token of its own."""
    expected, nodes, ranks = document["expected"], document["nodes"], document["ranks"]
    absent_nodes = set(range(expected["nodes"])) - {rank["node"] for rank in ranks}
    numbers = sorted(rank["rank"] for rank in ranks)
    tokens = {rank["token"] for rank in ranks}
    if absent_nodes or len(nodes) != expected["nodes"]:
        names = ", ".join(str(index) for index in sorted(absent_nodes)) or "unknown"
        message = f"no rank of node {names} took part in the all-reduce; expected {expected['nodes']} nodes"
        return Check("participants", FAIL, message, "read that node's log stream")
    if numbers != list(range(expected["ranks"])) or len(tokens) != len(ranks):
        message = f"{len(tokens)} distinct ranks took part, expected {expected['ranks']}"
        return Check("participants", FAIL, message, "compare the nodes' GPU counts with the instance type's")
    return Check("participants", PASS, f"{_cluster(expected)} took part")


def check_node_shape(document: Document) -> Check:
    """Whether every node has the accelerators and EFA devices of its instance type."""
    reason = _hardware_not_graded(document)
    if reason:
        return Check("node_shape", NOT_GRADED, reason)
    return (
        missing_gpus(document)
        or _missing(document, "neuron_devices", "neuron_devices_per_node", "Trainium devices")
        or _missing(document, "efa_devices", "efa_devices_per_node", "EFA devices")
        or Check("node_shape", PASS, "every node has its accelerators and EFA devices")
    )


def missing_gpus(document: Document) -> Check | None:
    """The failed check if a node lacks GPUs, which can be known before any benchmark."""
    if _hardware_not_graded(document):
        return None
    return _missing(document, "gpus", "gpus_per_node", "GPUs")


def check_values(document: Document) -> Check:
    """Whether every element of every result was right."""
    rows = document["results"]
    wrong = [row for row in rows if row["in_place"]["nwrong"]]
    if not rows:
        return Check("values", FAIL, "no size was measured", "give --max-bytes that is not below --min-bytes")
    if wrong:
        total = sum(row["in_place"]["nwrong"] for row in wrong)
        message = f"{total} wrong elements, first at {format_size(wrong[0]['size'])}"
        return Check("values", FAIL, message, "a wrong sum is a defect of a GPU, driver or library: replace the nodes")
    return Check("values", PASS, f"every element of {len(rows)} sizes is right")


def check_provider(document: Document) -> Check:
    """Whether NCCL moved the data over EFA on every rank, by its own log."""
    reason = _hardware_not_graded(document)
    expected = document["expected"]
    if not reason and not (expected["efa_devices_per_node"] and expected["gpus_per_node"]):
        reason = f"{expected['instance_type']} has no GPUs: the all-reduce ran between the hosts, over TCP"
    if not reason and expected["nodes"] == 1:
        reason = "one node alone: nothing crosses the fabric"
    if reason:
        return Check("provider", NOT_GRADED, reason)
    for rank in document["ranks"]:
        network = rank.get("network") or {}
        if network.get("provider") == "efa" and "libfabric" in (network.get("network") or "").lower():
            continue
        seen = f"network {network.get('network')}, provider {network.get('provider')}"
        fallback = network.get("network") == "Socket"
        message = f"node {rank['node']}, rank {rank['rank']}: " + (
            f"NCCL fell back to TCP ({seen})" if fallback else f"NCCL's log does not say that it used efa ({seen})"
        )
        return Check("provider", FAIL, message, "check the image's aws-ofi-nccl and the job's /dev/infiniband devices")
    return Check("provider", PASS, "NCCL used efa on every rank")


def check_bandwidth(document: Document) -> Check:
    """The bus bandwidth against the published figures, at their sizes and node counts only."""
    reason = _hardware_not_graded(document)
    if reason:
        return Check("bandwidth", NOT_GRADED, reason)
    expected = document["expected"]
    published = baselines.of_cluster(expected["instance_type"], expected["nodes"])
    measured = {row["size"]: row["in_place"]["bus_bw"] for row in document["results"]}
    graded = [base for base in published if base.size in measured]
    if not graded:
        have = ", ".join(format_size(base.size) for base in published)
        cluster = f"{expected['nodes']} x {expected['instance_type']}"
        message = f"{cluster}: figures are published at {have} only" if have else f"no published figure for {cluster}"
        return Check("bandwidth", NOT_GRADED, message, f"measure one of {have}" if have else "")
    worst = min(graded, key=lambda base: measured[base.size] / base.bus_bw)
    return _grade(worst, measured[worst.size])


def _grade(base: baselines.Baseline, bus_bw: float) -> Check:
    part = bus_bw / base.bus_bw
    message = (
        f"{bus_bw:.1f} GB/s at {format_size(base.size)}, {part:.1%} of the {base.bus_bw:g} GB/s"
        f" published for {base.nodes} x {base.instance_type} ({base.source})"
    )
    if part >= 1 - baselines.TOLERANCE:
        return Check("bandwidth", PASS, message)
    cause = baselines.likely_cause(base.instance_type, bus_bw)
    status = DEGRADED if part >= baselines.FAILING else FAIL
    fix = "run again on other nodes; if it stays, check placement group, interfaces and software versions"
    return Check("bandwidth", status, message + (f": {cause}" if cause else ""), fix)


def _missing(document: Document, key: str, expected_key: str, what: str) -> Check | None:
    wanted = document["expected"][expected_key]
    for node in document["nodes"]:
        have = len(node[key])
        if have < wanted:
            message = f"node {node['index']} ({node['address']}) has {have} {what}, expected {wanted}"
            return Check("node_shape", FAIL, message, f"replace the node, or ask for {what} in the job definition")
    return None


def _cluster(expected: Document) -> str:
    nodes, ranks = expected["nodes"], expected["ranks"]
    return f"{nodes} node{'s' if nodes > 1 else ''}, {ranks} rank{'s' if ranks > 1 else ''}"


def _hardware_not_graded(document: Document) -> str:
    if document["simulated"]:
        return SIMULATED
    return "" if document["expected"]["instance_type"] else _NO_SHAPE


def _headline(document: Document, status: str, checks: tuple[Check, ...]) -> str:
    if status in (FAIL, DEGRADED):
        return next(check.message for check in checks if check.status == status)
    expected = document["expected"]
    largest = document["results"][-1]
    text = (
        f"{_cluster(expected)}: every sum is right, bus bandwidth"
        f" {largest['in_place']['bus_bw']:.4g} GB/s at {format_size(largest['size'])}"
    )
    if status == PASS:
        return text
    return f"{text}; not graded: {next(check.message for check in checks if check.status == NOT_GRADED)}"
