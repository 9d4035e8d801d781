"""The verdict, one table per check."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mnp.node.smoke_test import baselines, nccl_log, verdict

GIB = 2**30
EFA = {"network": "AWS Libfabric", "provider": "efa"}


def _document(*, instance_type: str = "p5.48xlarge", nodes: int = 4, **bus_bw: float) -> dict[str, Any]:
    """A healthy run on real nodes of 8 GPUs; `bus_bw` is GB/s by size, as gib8=357."""
    measured = bus_bw or {"gib1": 280.0, "gib8": 357.0}
    return {
        "simulated": False,
        "expected": {
            "nodes": nodes,
            "ranks": nodes * 8,
            "instance_type": instance_type,
            "gpus_per_node": 8,
            "efa_devices_per_node": 32,
            "neuron_devices_per_node": 0,
        },
        "nodes": [
            {
                "index": i,
                "address": f"10.0.0.{i}",
                "gpus": ["H100"] * 8,
                "efa_devices": [f"rdmap{j}" for j in range(32)],
                "neuron_devices": [],
            }
            for i in range(nodes)
        ],
        "ranks": [
            {"rank": r, "node": r // 8, "local_rank": r % 8, "token": f"t{r}", "network": dict(EFA)}
            for r in range(nodes * 8)
        ],
        "results": [
            {"size": int(name[3:]) * GIB, "in_place": {"bus_bw": value, "nwrong": 0}}
            for name, value in measured.items()
        ],
    }


def _status(document: dict[str, Any], name: str) -> tuple[str, str]:
    (check,) = [check for check in verdict.judge(document).checks if check.name == name]
    return check.status, check.message


def test_healthy_cluster_passes() -> None:
    """All checks pass, and the headline says how fast."""
    judged = verdict.judge(_document())
    assert judged.status == "PASS"
    assert {check.status for check in judged.checks} == {"PASS"}
    assert judged.headline == "4 nodes, 32 ranks: every sum is right, bus bandwidth 357 GB/s at 8 GiB"


def test_absent_node_fails() -> None:
    """A node none of whose ranks took part is named, even if the values look right."""
    document = _document()
    document["ranks"] = [rank for rank in document["ranks"] if rank["node"] != 2]
    assert _status(document, "participants") == (
        "FAIL",
        "no rank of node 2 took part in the all-reduce; expected 4 nodes",
    )


@pytest.mark.parametrize("change", ["absent rank", "same token", "same rank"])
def test_wrong_ranks_fail(change: str) -> None:
    """A rank that is absent, or two that are one, fail the test."""
    document = _document()
    if change == "absent rank":
        del document["ranks"][5]
    elif change == "same token":
        document["ranks"][5]["token"] = document["ranks"][6]["token"]
    else:
        document["ranks"][5]["rank"] = 6
    assert _status(document, "participants")[0] == "FAIL"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("gpus", "node 3 (10.0.0.3) has 7 GPUs, expected 8"),
        ("efa_devices", "node 3 (10.0.0.3) has 31 EFA devices, expected 32"),
    ],
)
def test_node_that_lacks_hardware_fails(key: str, message: str) -> None:
    """A node with less than its type has is named with what it lacks."""
    document = _document()
    document["nodes"][3][key].pop()
    assert _status(document, "node_shape") == ("FAIL", message)


def test_trainium_is_not_graded_and_a_missing_device_is_named() -> None:
    """On Trainium the sums run between the hosts: nothing is said of a fabric that they did not cross."""
    document = _document()
    document["expected"].update(
        instance_type="trn1.32xlarge", gpus_per_node=0, efa_devices_per_node=8, neuron_devices_per_node=16
    )
    for node in document["nodes"]:
        node.update(gpus=[], neuron_devices=[f"neuron{j}" for j in range(16)])
    assert verdict.judge(document).status == "NOT_GRADED"
    assert _status(document, "provider") == (
        "NOT_GRADED",
        "trn1.32xlarge has no GPUs: the all-reduce ran between the hosts, over TCP",
    )
    document["nodes"][1]["neuron_devices"].pop()
    assert _status(document, "node_shape") == ("FAIL", "node 1 (10.0.0.1) has 15 Trainium devices, expected 16")


def test_wrong_values_fail() -> None:
    """One wrong element fails the test, whatever the bandwidth."""
    document = _document()
    document["results"][1]["in_place"]["nwrong"] = 1
    assert _status(document, "values") == ("FAIL", "1 wrong elements, first at 8 GiB")
    assert verdict.judge(document).status == "FAIL"
    assert _status({**document, "results": []}, "values")[0] == "FAIL"


@pytest.mark.parametrize(
    ("network", "status", "message"),
    [
        (EFA, "PASS", "NCCL used efa on every rank"),
        ({"network": "Libfabric", "provider": "efa"}, "PASS", "efa"),
        ({"network": "Socket", "provider": None}, "FAIL", "node 1, rank 9: NCCL fell back to TCP"),
        ({"network": "Socket", "provider": "efa"}, "FAIL", "NCCL fell back to TCP"),
        ({"network": "AWS Libfabric", "provider": "tcp"}, "FAIL", "does not say that it used efa"),
        ({"network": None, "provider": None}, "FAIL", "does not say that it used efa"),
        (None, "FAIL", "does not say that it used efa"),
    ],
)
def test_provider_must_be_efa_on_every_rank(network: dict[str, Any] | None, status: str, message: str) -> None:
    """One rank that does not use EFA, or does not prove it, fails the test by name."""
    document = _document()
    document["ranks"][9]["network"] = network
    found, text = _status(document, "provider")
    assert found == status
    assert message in text


@pytest.mark.parametrize(
    ("instance_type", "nodes", "bus_bw", "status", "message"),
    [
        ("p5.48xlarge", 4, {"gib8": 357.0}, "PASS", "100.0% of the 357 GB/s published for 4 x p5.48xlarge"),
        ("p5.48xlarge", 4, {"gib8": 304.0}, "PASS", "85.2%"),
        ("p5.48xlarge", 4, {"gib8": 302.0}, "DEGRADED", "84.6% of the 357"),
        ("p5.48xlarge", 4, {"gib1": 280.0, "gib8": 180.0}, "DEGRADED", "180.0 GB/s at 8 GiB"),
        ("p5.48xlarge", 4, {"gib1": 139.0, "gib8": 357.0}, "FAIL", "139.0 GB/s at 1 GiB"),
        ("p5.48xlarge", 2, {"gib2": 10.0}, "FAIL", "level of TCP or of one EFA interface of 32"),
        ("p4d.24xlarge", 2, {"gib1": 8.15}, "FAIL", "about the level of TCP"),
        ("p4d.24xlarge", 2, {"gib1": 20.2}, "FAIL", "about the level of one EFA interface of four"),
        ("p4de.24xlarge", 2, {"gib2": 78.3}, "PASS", "78.3"),
        ("p6-b200.48xlarge", 4, {"gib16": 377.0}, "PASS", "377"),
        ("p6-b300.48xlarge", 2, {"gib16": 654.0}, "PASS", "654"),
        ("p5.48xlarge", 4, {"gib4": 1.0}, "NOT_GRADED", "figures are published at 1 GiB, 2 GiB, 8 GiB only"),
        ("p5.48xlarge", 3, {"gib8": 1.0}, "NOT_GRADED", "no published figure for 3 x p5.48xlarge"),
        ("g6e.48xlarge", 2, {"gib8": 1.0}, "NOT_GRADED", "no published figure for 2 x g6e.48xlarge"),
    ],
)
def test_bandwidth_is_graded_at_published_sizes_only(
    instance_type: str, nodes: int, bus_bw: dict[str, float], status: str, message: str
) -> None:
    """15 % below a published figure still passes, down to half is degraded, less fails with a likely cause."""
    found, text = _status(_document(instance_type=instance_type, nodes=nodes, **bus_bw), "bandwidth")
    assert found == status
    assert message in text


def test_simulated_hardware_is_never_passed() -> None:
    """On the embedded AWS what needs hardware is not graded, with the reason, and the rest still can fail."""
    document = {**_document(), "simulated": True}
    judged = verdict.judge(document)
    reason = "embedded AWS: no GPUs and no EFA here"
    assert [check.status for check in judged.checks] == ["PASS", "NOT_GRADED", "PASS", "NOT_GRADED", "NOT_GRADED"]
    assert [check.message for check in judged.checks if check.status == "NOT_GRADED"] == [reason] * 3
    assert judged.status == "NOT_GRADED"
    assert judged.headline.endswith(f"not graded: {reason}")
    broken = copy.deepcopy(document)
    broken["results"][0]["in_place"]["nwrong"] = 3
    assert verdict.judge(broken).status == "FAIL"


def test_node_without_a_shape_is_not_graded() -> None:
    """Without MNP_NODE_SHAPE nobody knows what to expect, so hardware and bandwidth are not graded."""
    document = _document()
    document["expected"].update(instance_type=None, gpus_per_node=None, efa_devices_per_node=None)
    assert verdict.judge(document).status == "NOT_GRADED"


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["PASS", "PASS"], "PASS"),
        (["PASS", "NOT_GRADED"], "NOT_GRADED"),
        (["NOT_GRADED", "DEGRADED"], "DEGRADED"),
        (["DEGRADED", "FAIL", "NOT_GRADED"], "FAIL"),
    ],
)
def test_the_worst_check_decides(statuses: list[str], expected: str) -> None:
    """A failure outweighs degradation, which outweighs what was not graded."""
    assert verdict.overall(tuple(verdict.Check("x", status, "") for status in statuses)) == expected


def test_every_baseline_has_a_source_and_a_size_worth_grading() -> None:
    """Each figure is positive, at 1 GiB or more, unique, and says where it was read."""
    keys = [(base.instance_type, base.nodes, base.size) for base in baselines.BASELINES]
    assert len(keys) == len(set(keys))
    assert all(base.bus_bw > 0 and base.size >= GIB for base in baselines.BASELINES)
    assert all(base.source.startswith("https://") for base in baselines.BASELINES)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            (
                "h:1:2 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)\n"
                "h:1:2 [0] NCCL INFO Using network AWS Libfabric\n"
                "h:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA\n"
            ),
            nccl_log.NcclNetwork("AWS Libfabric", "efa", None, 4, gpu_direct=True),
        ),
        (
            (
                "h:1:2 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)\n"
                "h:1:2 [0] NCCL INFO Assigned NET plugin Libfabric to comm\n"
                "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [receive] via NET/Libfabric/1/GDRDMA(PCI)\n"
                "h:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/Libfabric/1\n"
            ),
            nccl_log.NcclNetwork("Libfabric", "efa", "efa-direct", 16, gpu_direct=False),
        ),
        (
            (
                "h:1:2 [0] NCCL INFO NET/OFI No eligible providers were found\n"
                "h:1:2 [0] NCCL INFO NET/IB : No device found.\n"
                "h:1:2 [0] NCCL INFO NET/Socket : Using [0]ens5:10.0.0.4<0>\n"
                "h:1:2 [0] NCCL INFO Using network Socket\n"
            ),
            nccl_log.NcclNetwork("Socket"),
        ),
        (
            "h:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] via NET/Socket/0\n",
            nccl_log.NcclNetwork("Socket", gpu_direct=False),
        ),
        ("", nccl_log.NcclNetwork()),
    ],
)
def test_nccl_log_tells_the_network(log: str, expected: nccl_log.NcclNetwork) -> None:
    """Old and new lines of NCCL and its OFI plugin are understood; silence claims nothing."""
    assert nccl_log.parse(log) == expected
