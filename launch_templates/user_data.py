"""The user data of a node: a MIME multipart document of the shell files in boot/.

AWS Batch merges it with its own and accepts nothing but MIME multipart:
https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html, checked 2026-11-21.
"""

from __future__ import annotations

from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from importlib import resources

# EC2's limit before base64: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html, checked 2026-11-21.
MOST_BYTES = 16 * 1024
# Boothooks run at every boot before Docker and the ECS agent start, which read what these files write.
BOOTHOOKS = ("docker-limits.sh", "ecs-agent.sh")
# Fixed, so that equal files make an equal document, and no new launch-template version.
_BOUNDARY = "==mnp-user-data=="


def user_data() -> str:
    """The document, not yet base64.

    Raises:
        ValueError: it is larger than EC2 takes.
    """
    document = MIMEMultipart(boundary=_BOUNDARY)
    for name in BOOTHOOKS:
        part = MIMEText(script(name), "cloud-boothook", "us-ascii")
        part.add_header("Content-Disposition", "attachment", filename=name)
        document.attach(part)
    text = document.as_string()
    if len(text.encode()) > MOST_BYTES:
        raise ValueError(f"user data of {len(text.encode())} bytes; EC2 takes {MOST_BYTES}")
    return text


def script(name: str) -> str:
    return resources.files(__package__).joinpath("boot", name).read_text(encoding="ascii")
