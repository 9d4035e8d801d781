"""References to secrets, as job definitions and templates write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnp.local_aws.clients import Clients

_ARN_FIELDS = 7


def secret_value(clients: Clients, region: str, reference: str) -> str:
    """Return the value that a Secrets Manager reference names.

    Args:
        clients: Clients of the embedded AWS.
        region: The region to ask.
        reference: The secret's name or ARN, and after it optionally `:json-key:version-stage:version-id`.

    Raises:
        botocore.exceptions.ClientError: There is no such secret.
        KeyError: The secret's JSON document has no such key.
    """
    parts = reference.split(":")
    fields = _ARN_FIELDS if reference.startswith("arn:") else 1
    secret = clients.get("secretsmanager", region).get_secret_value(SecretId=":".join(parts[:fields]))
    text = str(secret["SecretString"])
    key = parts[fields] if len(parts) > fields else ""
    return str(json.loads(text)[key]) if key else text
