"""A container's output in CloudWatch Logs, one stream per node and attempt, as the awslogs driver writes it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import botocore.exceptions

from mnp.local_aws.executor.errors import StartContainerError

if TYPE_CHECKING:
    from mnp.local_aws.clients import Clients

_LOGGER = logging.getLogger(__name__)
DEFAULT_GROUP = "/aws/batch/job"
_NAME_LENGTH = 200
_MAX_EVENT_BYTES = 200_000
_EXISTS = "ResourceAlreadyExistsException"


class LogStream:
    """Takes bytes as they come and writes whole lines at once."""

    def __init__(self, logs: Any, group: str, name: str) -> None:
        self._logs, self._group, self.name = logs, group, name
        self._rest = b""

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _MAX_EVENT_BYTES:
            lines, self._rest = [*lines, self._rest], b""
        self._put(lines)

    def close(self) -> None:
        """Write what stands after the last line end."""
        if self._rest:
            self._put([self._rest])
            self._rest = b""

    def _put(self, lines: list[bytes]) -> None:
        stamp = int(time.time() * 1000)
        texts = (line.rstrip(b"\r").decode(errors="replace") for line in lines)
        # CloudWatch Logs refuses empty messages; the awslogs driver leaves empty lines out.
        events = [{"timestamp": stamp, "message": text} for text in texts if text]
        try:
            if events:
                self._logs.put_log_events(logGroupName=self._group, logStreamName=self.name, logEvents=events)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError):
            # The group was deleted under the job, or the server stops: the container goes on without its log.
            _LOGGER.exception("lost %d lines of %s", len(events), self.name)


def open_stream(
    clients: Clients, region: str, *, container: dict[str, Any], definition_name: str, task_id: str
) -> LogStream:
    """Create the stream of one container.

    Raises:
        StartContainerError: The job definition names a log group that does not exist, or another log driver.
    """
    logs = clients.get("logs", region)
    configuration = container.get("logConfiguration") or {"logDriver": "awslogs"}
    if configuration["logDriver"] != "awslogs":
        raise StartContainerError(f"the log driver {configuration['logDriver']} is not modelled; use awslogs")
    options = configuration.get("options") or {}
    group = options.get("awslogs-group", DEFAULT_GROUP)
    prefix = options.get("awslogs-stream-prefix", definition_name[:_NAME_LENGTH])
    if group == DEFAULT_GROUP or options.get("awslogs-create-group") == "true":
        _create_group(logs, group)
    name = f"{prefix}/default/{task_id}"
    try:
        logs.create_log_stream(logGroupName=group, logStreamName=name)
    except botocore.exceptions.ClientError as error:
        raise StartContainerError(
            f"ResourceInitializationError: failed to validate logger args: create stream in log group {group}: "
            f"{error.response['Error'].get('Message')}"
        ) from error
    return LogStream(logs, group, name)


def _create_group(logs: Any, group: str) -> None:
    try:
        logs.create_log_group(logGroupName=group)
    except botocore.exceptions.ClientError as error:
        if error.response["Error"]["Code"] != _EXISTS:
            raise
