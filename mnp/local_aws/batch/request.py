"""One call of Batch's API, as the operations get it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnp.local_aws.clients import ACCOUNT_ID

if TYPE_CHECKING:
    from mnp.local_aws.batch.state import Region
    from mnp.local_aws.clients import Clients
    from mnp.local_aws.executor.scheduler import Scheduler


@dataclass(frozen=True, kw_only=True)
class Request:
    """One API call: its parameters, and what it works on."""

    parameters: dict[str, Any]
    region_name: str
    region: Region
    clients: Clients
    scheduler: Scheduler

    def client(self, service: str) -> Any:
        return self.clients.get(service, self.region_name)

    def arn(self, resource: str, *, service: str = "batch") -> str:
        return f"arn:aws:{service}:{self.region_name}:{ACCOUNT_ID}:{resource}"

    def iam_arn(self, resource: str) -> str:
        return f"arn:aws:iam::{ACCOUNT_ID}:{resource}"

    def set_tags(self, arn: str, tags: dict[str, str] | None) -> None:
        if tags:
            self.region.tags.setdefault(arn, {}).update(tags)
