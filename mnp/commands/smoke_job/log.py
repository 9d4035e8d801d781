"""The main node's log in CloudWatch Logs, read on as it grows."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_logs import CloudWatchLogsClient

LINES_KEPT = 20


class MainLog:
    """Reads each line once. `last_lines` are the newest lines, as many as help to see why a job died."""

    def __init__(self, logs: CloudWatchLogsClient, group: str) -> None:
        self._logs = logs
        self._group = group
        self._stream: str | None = None
        self._token: str | None = None
        self.last_lines: deque[str] = deque(maxlen=LINES_KEPT)

    def read(self, stream: str | None) -> list[str]:
        """Return the lines that are new since the last call; none while the stream is not there yet.

        Another stream than before means another attempt: it is read from its start.
        """
        if stream != self._stream:
            self._stream, self._token = stream, None
            self.last_lines.clear()
        lines = list(self._unread(stream)) if stream is not None else []
        self.last_lines.extend(lines)
        return lines

    def _unread(self, stream: str) -> Iterator[str]:
        while True:
            token = {"nextToken": self._token} if self._token else {}
            try:
                page = self._logs.get_log_events(
                    logGroupName=self._group,
                    logStreamName=stream,
                    startFromHead=True,
                    **token,  # type: ignore[arg-type]
                )
            except self._logs.exceptions.ResourceNotFoundException:
                return  # the stream appears with the container's first line
            yield from (event["message"].rstrip("\r\n") for event in page["events"])
            # The same token again means the end; an empty page alone does not:
            # https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetLogEvents.html (2026-11-21).
            if page["nextForwardToken"] == self._token:
                return
            self._token = page["nextForwardToken"]
