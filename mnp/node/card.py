"""What a node says of itself: the facts that the main node and the verdict need."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NVIDIA_SMI_TIMEOUT = 60  # seconds; the first query on a cold 8-GPU host takes long
_AMAZON_PCI_VENDOR = "0x1d0f"


@dataclass(frozen=True)
class Card:
    """One node's facts.

    `gpus` are product names, `efa_devices` RDMA device names, `neuron_devices` names in /dev, versions by component.
    """

    index: int
    address: str
    hostname: str
    gpus: tuple[str, ...] = ()
    efa_devices: tuple[str, ...] = ()
    neuron_devices: tuple[str, ...] = ()
    instance_type: str | None = None
    versions: dict[str, str] = field(default_factory=dict)

    def as_document(self) -> dict[str, Any]:
        """The card as JSON types, without what is not known."""
        document = {name: value for name, value in vars(self).items() if value is not None}
        devices = {name: list(document[name]) for name in ("gpus", "efa_devices", "neuron_devices")}
        return {**document, **devices, "versions": dict(self.versions)}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Card:
        """The card of a JSON object; a ValueError says what is wrong with it."""
        index, address = document.get("index"), document.get("address")
        if not (isinstance(index, int) and isinstance(address, str)):
            raise ValueError("a node's card lacks its index or address")  # noqa: TRY004 - one error for a bad card
        instance_type = document.get("instance_type")
        return Card(
            index=index,
            address=address,
            hostname=str(document.get("hostname", "")),
            gpus=tuple(str(name) for name in document.get("gpus", ())),
            efa_devices=tuple(str(name) for name in document.get("efa_devices", ())),
            neuron_devices=tuple(str(name) for name in document.get("neuron_devices", ())),
            instance_type=None if instance_type is None else str(instance_type),
            versions={str(name): str(value) for name, value in dict(document.get("versions", {})).items()},
        )


def own_card(index: int, address: str) -> Card:
    """The card of the node this runs on."""
    gpus, driver = _nvidia_gpus()
    versions = {"python": platform.python_version(), "kernel": platform.release(), "driver": driver}
    try:
        versions["torch"] = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        versions["torch"] = ""
    return Card(
        index=index,
        address=address,
        hostname=socket.gethostname(),
        gpus=gpus,
        efa_devices=efa_devices(),
        neuron_devices=neuron_devices(),
        instance_type=instance_type(),
        versions={name: version for name, version in versions.items() if version},
    )


def _nvidia_gpus() -> tuple[tuple[str, ...], str]:
    command = shutil.which("nvidia-smi")
    if not command:
        return (), ""
    query = [command, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_NVIDIA_SMI_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return (), ""  # a driver that does not answer gives no GPUs to use: the shape check names the node
    rows = [line.rsplit(", ", 1) for line in done.stdout.splitlines() if ", " in line]
    return tuple(row[0] for row in rows), rows[0][1] if rows else ""


def efa_devices(root: Path = Path("/")) -> tuple[str, ...]:
    """Names of the EFA devices this container may open.

    The host's sysfs lists every RDMA device, also those of other makers (the NVLink management NICs of P6) and
    those whose /dev/infiniband/uverbs* was not passed in.
    """
    found = []
    for verbs in (root / "sys/class/infiniband_verbs").glob("uverbs*"):
        try:
            vendor = (verbs / "device/vendor").read_text().strip()
            name = (verbs / "ibdev").read_text().strip()
        except OSError:
            continue
        if vendor == _AMAZON_PCI_VENDOR and (root / "dev/infiniband" / verbs.name).exists():
            found.append(name)
    return tuple(sorted(found))


def neuron_devices(root: Path = Path("/")) -> tuple[str, ...]:
    """Names of the Trainium devices this container may open."""
    return tuple(sorted(device.name for device in (root / "dev").glob("neuron[0-9]*")))


def instance_type(root: Path = Path("/")) -> str | None:
    """The EC2 instance type from the firmware tables of a Nitro host, None elsewhere.

    No instance metadata: containers of this cluster are kept from it.
    """
    dmi = root / "sys/devices/virtual/dmi/id"
    try:
        if (dmi / "sys_vendor").read_text().strip() != "Amazon EC2":
            return None
        return (dmi / "product_name").read_text().strip() or None
    except OSError:
        return None
