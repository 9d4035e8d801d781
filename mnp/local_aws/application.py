"""The front door: one WSGI application for moto, for services of our own and for what ECS serves its tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Response

from mnp.local_aws.callers import Callers
from mnp.local_aws.executor.task_endpoints import PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]

_HOSTS = ("localhost", "127.0.0.1")
_SERVICE = re.compile(r"/([a-z0-9-]+)/aws4_request")


class Application:
    """Hands each request to the part that answers it; `own` are services by the name that requests are signed for.

    A web page may not talk to the server: a job is a command run on this machine. A page cannot sign a request
    without the browser's asking first, which nobody here answers; and a page whose host name was made to point at
    this machine is told apart by the Host header.
    """

    def __init__(self, *, callers: Callers, moto: Wsgi, own: Mapping[str, Wsgi], tasks: Wsgi) -> None:
        self._callers = callers
        self._moto, self._own, self._tasks = moto, own, tasks

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "").rsplit(":", 1)[0]
        if not (host in _HOSTS or host.endswith(".localhost")):
            refusal: Wsgi = Response(f"host {host!r} is not this server", 403)
            return refusal(environ, start_response)
        if environ.get("PATH_INFO", "").startswith(PATH):
            return self._tasks(environ, start_response)
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        unknown: Wsgi | None = self._callers.refusal(authorization, environ.get("QUERY_STRING", ""))
        if unknown is not None:
            return unknown(environ, start_response)
        signed_for = _SERVICE.search(authorization)
        service = self._own.get(signed_for[1], self._moto) if signed_for else self._moto
        return service(environ, start_response)
