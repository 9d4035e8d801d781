"""What the services of our own share: the front of an API that takes and gives JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from werkzeug.wrappers import Request as HttpRequest
from werkzeug.wrappers import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class RefusalError(Exception):
    """A request is refused with one of the service's errors."""

    code: ClassVar[str]
    status: ClassVar[int] = 400


def respond(
    environ: dict[str, Any], start_response: Any, answer: Callable[[HttpRequest], dict[str, Any]]
) -> Iterable[bytes]:
    """Answer a WSGI request with a JSON document, or with the refusal that `answer` raises."""
    try:
        response = Response(json.dumps(answer(HttpRequest(environ))), 200, mimetype="application/json")
    except RefusalError as error:
        headers = {"x-amzn-ErrorType": error.code}
        response = Response(json.dumps({"message": str(error)}), error.status, headers, mimetype="application/json")
    body: Iterable[bytes] = response(environ, start_response)
    return body


def region_of(http: HttpRequest) -> str:
    """Return the region of a SigV4 Authorization header's credential scope."""
    authorization = http.headers.get("Authorization", "")
    scope = authorization.partition("Credential=")[2].partition(",")[0].split("/")
    return str(scope[-3])
