"""What a node says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnp.node import card
from mnp.node.card import Card


def _device(root: Path, number: int, vendor: str, name: str, *, passed_in: bool) -> None:
    folder = root / f"sys/class/infiniband_verbs/uverbs{number}"
    (folder / "device").mkdir(parents=True)
    (folder / "device/vendor").write_text(vendor + "\n")
    (folder / "ibdev").write_text(name + "\n")
    if passed_in:
        (root / "dev/infiniband").mkdir(parents=True, exist_ok=True)
        (root / f"dev/infiniband/uverbs{number}").touch()


def test_only_efa_devices_that_may_be_opened_count(tmp_path: Path) -> None:
    """Other makers' devices and those not passed into the container are left out."""
    _device(tmp_path, 0, "0x1d0f", "rdmap79s0", passed_in=True)
    _device(tmp_path, 1, "0x1d0f", "rdmap80s0", passed_in=False)
    _device(tmp_path, 2, "0x15b3", "mlx5_0", passed_in=True)
    assert card.efa_devices(tmp_path) == ("rdmap79s0",)
    assert card.efa_devices(tmp_path / "none") == ()


def test_trainium_devices_are_those_in_dev(tmp_path: Path) -> None:
    """What the job definition passed in counts; the core files beside them do not."""
    (tmp_path / "dev").mkdir()
    for name in ("neuron0", "neuron1", "neuron_core0", "null"):
        (tmp_path / "dev" / name).touch()
    assert card.neuron_devices(tmp_path) == ("neuron0", "neuron1")


@pytest.mark.parametrize(("vendor", "expected"), [("Amazon EC2", "p5.48xlarge"), ("QEMU", None)])
def test_instance_type_is_what_ec2s_firmware_says(tmp_path: Path, vendor: str, expected: str | None) -> None:
    """The product name is an instance type on EC2 only."""
    dmi = tmp_path / "sys/devices/virtual/dmi/id"
    dmi.mkdir(parents=True)
    (dmi / "sys_vendor").write_text(vendor + "\n")
    (dmi / "product_name").write_text("p5.48xlarge\n")
    assert card.instance_type(tmp_path) == expected
    assert card.instance_type(tmp_path / "none") is None


def test_gpus_are_what_nvidia_smi_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and driver come from nvidia-smi; if it fails, the node has no GPUs to use."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 580.95.05'\necho 'NVIDIA H100 80GB HBM3, 580.95.05'\n")
    tool.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    own = card.own_card(3, "10.0.0.3")
    assert own.gpus == ("NVIDIA H100 80GB HBM3",) * 2
    assert own.versions["driver"] == "580.95.05"
    tool.write_text("#!/bin/sh\necho 'Failed to initialize NVML'\nexit 9\n")
    assert card.own_card(3, "10.0.0.3").gpus == ()


def test_card_survives_the_wire() -> None:
    """A card sent as JSON is the same card."""
    own = card.own_card(3, "10.0.0.3")
    assert Card.from_document(json.loads(json.dumps(own.as_document()))) == own
    assert own.hostname
    assert {"python", "kernel", "torch"} <= set(own.versions)


@pytest.mark.parametrize("document", [{}, {"index": "0", "address": "x"}, {"index": 0}])
def test_card_without_a_place_is_refused(document: dict[str, object]) -> None:
    """A card must say which node it is and where."""
    with pytest.raises(ValueError, match="lacks its index or address"):
        Card.from_document(document)
