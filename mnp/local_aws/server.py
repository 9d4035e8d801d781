"""The embedded AWS as an object: start it, use it over HTTP, stop it."""

from __future__ import annotations

import errno
import logging
import socket
import threading
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Self

from moto.core.base_backend import BackendDict
from moto.core.config import default_user_config
from moto.moto_server import werkzeug_app
from werkzeug.serving import make_server

from mnp.local_aws.application import Application
from mnp.local_aws.batch.service import BatchService
from mnp.local_aws.batch.state import State
from mnp.local_aws.callers import Callers, new_access_key_id
from mnp.local_aws.clients import SECRET_ACCESS_KEY, Clients
from mnp.local_aws.cloudformation import backend as cloudformation
from mnp.local_aws.ec2 import placement_groups
from mnp.local_aws.errors import LocalAwsError, PortTakenError
from mnp.local_aws.executor.isolation import Loopback
from mnp.local_aws.executor.job_run import Machine
from mnp.local_aws.executor.scheduler import Scheduler
from mnp.local_aws.executor.task_endpoints import TaskEndpoints
from mnp.local_aws.image_builder import state as image_builder
from mnp.local_aws.image_builder.service import ImageBuilderService
from mnp.local_aws.moto_version import check_moto_version
from mnp.local_aws.s3 import bucket_policies

if TYPE_CHECKING:
    from types import TracebackType

ADDRESS = "127.0.0.1"
REGION = "us-east-1"
# ECS waits this long between SIGTERM and SIGKILL (ECS_CONTAINER_STOP_TIMEOUT, checked 2026-11-21).
CONTAINER_STOP_TIMEOUT_SECONDS = 30.0


class LocalAws:
    """An AWS on this machine's loopback interface, running while the context lasts.

    moto keeps its state in the process, so a process holds one server at a time, and each starts empty.

    Args:
        port: The port to listen on; 0 takes a free one.
        log: The file that requests and the server's own messages are written to; a temporary one if not given.
        region: The region that `environment()` names.
        container_stop_timeout: Seconds between SIGTERM and SIGKILL when a job's container is stopped.

    Raises:
        PortTakenError: Something else listens on the port.
        UnsupportedMotoError: The installed moto is not the one the extensions were written for.
        LocalAwsError: This process already runs one.
    """

    _running: ClassVar[threading.Lock] = threading.Lock()

    def __init__(
        self,
        port: int = 0,
        *,
        log: Path | None = None,
        region: str = REGION,
        container_stop_timeout: float = CONTAINER_STOP_TIMEOUT_SECONDS,
    ) -> None:
        self._port, self._log, self.region = port, log, region
        self._container_stop_timeout = container_stop_timeout
        self.endpoint_url = ""
        self.access_key_id = new_access_key_id()

    def environment(self) -> dict[str, str]:
        """Return the variables that point any AWS client, SDK or the CDK CLI at this server."""
        return environment(self.endpoint_url, self.region, self.access_key_id)

    def __enter__(self) -> Self:
        check_moto_version()
        if not self._running.acquire(blocking=False):
            raise LocalAwsError("this process already runs an embedded AWS: moto's state is one per process")
        try:
            self._start()
        except BaseException:
            self._running.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scheduler.stop()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._clients.close()
        for logger in _LOGGERS:
            logger.removeHandler(self._log_handler)
        self._log_handler.close()
        self._files.close()
        BackendDict.reset()
        self._running.release()

    def _start(self) -> None:
        # Templates attach AWS's own policies, which moto leaves out unless told.
        default_user_config["iam"]["load_aws_managed_policies"] = True
        BackendDict.reset()
        front = _Front()
        self._server = _listen(self._port, front)
        self.endpoint_url = f"http://localhost:{self._server.port}"
        self._files = ExitStack()
        log = self._log or Path(self._files.enter_context(TemporaryDirectory(prefix="mnp-local-")), "server.log")
        self._log_handler = _log_to(log)
        self._clients = Clients(self.endpoint_url, self.access_key_id)
        endpoints, state = TaskEndpoints(self._clients), State()
        self._scheduler = Scheduler(
            Machine(
                state=state,
                clients=self._clients,
                endpoints=endpoints,
                isolation=Loopback(),
                container_stop_timeout=self._container_stop_timeout,
            )
        )
        cloudformation.install(self._clients)
        placement_groups.install()
        bucket_policies.install()
        # No page in a browser is to read this server's answers.
        werkzeug_app.DISABLE_GLOBAL_CORS = True
        front.application = Application(
            callers=Callers(self.access_key_id),
            moto=werkzeug_app.DomainDispatcherApplication(werkzeug_app.create_backend_app),
            own={
                "batch": BatchService(state, self._clients, self._scheduler),
                "imagebuilder": ImageBuilderService(image_builder.State(), self._clients),
            },
            tasks=endpoints,
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="embedded AWS", daemon=True)
        self._thread.start()
        self._scheduler.start()


# What a person may have set that would lead a client elsewhere, or keep it from starting.
MISLEADING_VARIABLES = ("AWS_PROFILE", "AWS_SESSION_TOKEN")


def environment(endpoint_url: str, region: str, access_key_id: str) -> dict[str, str]:
    """Return the variables that point an AWS client at the server of an endpoint."""
    return {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_ACCESS_KEY_ID": access_key_id,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_PAGER": "",
    }


class _Front:
    """The port is bound before the parts that need its number exist."""

    application: Application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        return self.application(environ, start_response)


class _RequestHandler(werkzeug_app.MotoRequestHandler):  # type: ignore[misc] # moto is untyped here
    """Writes the request log to our file, not to the console."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        _LOGGER.log(logging.getLevelName(type.upper()), message, *args)


_LOGGER = logging.getLogger("mnp.local_aws.requests")
# werkzeug's own tells of requests that ended in a traceback.
_LOGGERS = (_LOGGER, logging.getLogger("werkzeug"), logging.getLogger("mnp.local_aws.executor"))


def _log_to(path: Path) -> logging.Handler:
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    for logger in _LOGGERS:
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO)
    return handler


def _listen(port: int, application: Any) -> Any:
    # Bound here: werkzeug itself would print and leave the process when the port is taken.
    try:
        bound = socket.create_server((ADDRESS, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortTakenError(
            f"port {port} of {ADDRESS} is taken by another program: choose another one, or 0 for a free one"
        ) from None
    with bound:
        return make_server(
            ADDRESS,
            bound.getsockname()[1],
            application,
            threaded=True,
            request_handler=_RequestHandler,
            fd=bound.fileno(),
        )
