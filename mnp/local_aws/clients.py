"""Clients of the embedded AWS for its own parts: CloudFormation, Batch and the executor call the public API."""

from __future__ import annotations

import threading
from typing import Any

import botocore.config
import botocore.session

# moto's account for any access key that it does not know.
ACCOUNT_ID = "123456789012"
SECRET_ACCESS_KEY = "mnp-local"  # noqa: S105 - nothing checks it: who may call is told by the access key id


class Clients:
    """botocore clients for one endpoint, made once per service and region (making one takes 50 ms and more)."""

    def __init__(self, endpoint_url: str, access_key_id: str) -> None:
        self.endpoint_url, self._access_key_id = endpoint_url, access_key_id
        self._session = botocore.session.Session()
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def get(self, service: str, region: str) -> Any:
        """Return the client of `service` (a botocore service name) in `region`."""
        with self._lock:
            key = (service, region)
            if key not in self._clients:
                self._clients[key] = self._session.create_client(
                    service,
                    region_name=region,
                    endpoint_url=self.endpoint_url,
                    aws_access_key_id=self._access_key_id,
                    aws_secret_access_key=SECRET_ACCESS_KEY,
                    config=_CONFIG,
                )
            return self._clients[key]

    def service_model(self, service: str) -> Any:
        """Return botocore's description of a service's operations and shapes."""
        with self._lock:
            return self._session.get_service_model(service)

    def close(self) -> None:
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()


_CONFIG = botocore.config.Config(
    retries={"total_max_attempts": 1},
    max_pool_connections=64,
    s3={"addressing_style": "path"},
)
