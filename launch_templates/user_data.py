"""The user data of a node: a MIME multipart document of the shell files in boot/.

AWS Batch merges it with its own and accepts nothing but MIME multipart:
https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html, checked 2026-11-21.

Every part is a boothook. Boothooks run at every boot, early: before Docker and the ECS agent start, which read what
they write. What needs the node's devices is done later, by a step before the agent's start: agent-step.sh says how.
"""

from __future__ import annotations

import shlex
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from importlib import resources

from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from mnp.cluster.node_shape import node_shape

# EC2's limit before base64: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html, checked 2026-11-21.
MOST_BYTES = 16 * 1024
# Fixed, so that equal files make an equal document, and no new launch-template version.
_BOUNDARY = "==mnp-user-data=="


def user_data(cluster: Cluster) -> str:
    """The document, not yet base64.

    Raises:
        ValueError: it is larger than EC2 takes.
    """
    document = MIMEMultipart(boundary=_BOUNDARY)
    for name, text in boothooks(cluster).items():
        part = MIMEText(text, "cloud-boothook", "us-ascii")
        part.add_header("Content-Disposition", "attachment", filename=name)
        document.attach(part)
    text = document.as_string()
    if len(text.encode()) > MOST_BYTES:
        raise ValueError(f"user data of {len(text.encode())} bytes; EC2 takes {MOST_BYTES}")
    return text


def boothooks(cluster: Cluster) -> dict[str, str]:
    """Text by file name, in the order in which they run: what the others read comes first."""
    files = ["agent-step.sh", "docker-limits.sh", "ecs-agent.sh", "kernel.sh"]
    files += ["efa-installer.sh"] * cluster.efa_installer + ["efa-ready.sh"] + ["scratch.sh"] * cluster.scratch
    return {"node-env.sh": _node_env(cluster)} | {name: script(name) for name in files}


def script(name: str) -> str:
    return resources.files(__package__).joinpath("boot", name).read_text(encoding="ascii")


def _node_env(cluster: Cluster) -> str:
    """Writes what the cluster knows of its nodes, for the other files to read."""
    shape = node_shape(catalogue()[cluster.instance_type], cluster.network_interfaces)
    values = {"MNP_EFA_DEVICES": str(shape.efa_devices)}
    lines = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    return script("node-env.sh").replace("@VALUES@\n", lines)
