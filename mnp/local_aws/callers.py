"""Who may call the server: a job is a command that runs as this user, so not every user of the machine.

The server's access key id is random and told to its own user alone; keys that STS and IAM gave out are good as well.
Signatures are not checked, so the key id is what has to stay secret.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from urllib.parse import unquote

from moto.iam.models import iam_backends
from moto.sts.models import sts_backends
from werkzeug.wrappers import Response

from mnp.local_aws.clients import ACCOUNT_ID

# key id/date/region/service/aws4_request
_CREDENTIAL = re.compile(r"Credential=([^/,&\s]+)/\d+/[^/]+/([^/]+)/")
_CODE = "InvalidClientTokenId"
_MESSAGE = "The access key is not one of this server: mnp local up prints the variables that lead to it."
_ERROR = f"<Error><Code>{_CODE}</Code><Message>{_MESSAGE}</Message></Error>"
# How services put an error into XML; all others of today speak JSON.
_XML = {
    "ec2": f"<Response><Errors>{_ERROR}</Errors></Response>",
    "s3": _ERROR,
    **dict.fromkeys(
        ("cloudformation", "iam", "monitoring", "sns", "sqs", "sts"), f"<ErrorResponse>{_ERROR}</ErrorResponse>"
    ),
}


def new_access_key_id() -> str:
    """A key id that nobody guesses, in the form of AWS's."""
    return f"MNPLOCAL{secrets.token_hex(16).upper()}"


class Callers:
    """Knows who may call, and answers who may not."""

    def __init__(self, access_key_id: str) -> None:
        self._access_key_id = access_key_id

    def refusal(self, authorization: str, query: str) -> Response | None:
        """The answer to a request, signed in its header or (presigned) in its query, without a key of this server."""
        found = _CREDENTIAL.search(authorization) or _CREDENTIAL.search(unquote(query))
        if found and self._is_ours(found[1]):
            return None
        if body := _XML.get(found[2] if found else ""):
            return Response(body, 403, mimetype="application/xml")
        return Response(json.dumps({"__type": _CODE, "message": _MESSAGE}), 403, {"x-amzn-ErrorType": _CODE})

    def _is_ours(self, key_id: str) -> bool:
        if hmac.compare_digest(key_id.encode(), self._access_key_id.encode()):
            return True
        sts, iam = sts_backends[ACCOUNT_ID]["global"], iam_backends[ACCOUNT_ID]["aws"]
        return sts.get_assumed_role_from_access_key(key_id) is not None or key_id in iam.access_keys
