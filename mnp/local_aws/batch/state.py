"""What Batch remembers, by region, under one lock."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mnp.local_aws.batch.errors import ClientException

if TYPE_CHECKING:
    from mnp.local_aws.batch.job import Job


@dataclass
class Region:
    """One region's Batch. Environments, queues and definitions are kept as the API describes them, by ARN."""

    compute_environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    job_queues: dict[str, dict[str, Any]] = field(default_factory=dict)
    job_definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    tags: dict[str, dict[str, str]] = field(default_factory=dict)

    def compute_environment(self, name_or_arn: str) -> dict[str, Any] | None:
        return _named(self.compute_environments, "computeEnvironmentName", name_or_arn)

    def job_queue(self, name_or_arn: str) -> dict[str, Any] | None:
        return _named(self.job_queues, "jobQueueName", name_or_arn)

    def job_definition(self, reference: str) -> dict[str, Any] | None:
        """Return the definition that `name`, `name:revision` or an ARN names; a name alone means the latest active."""
        name, _, revision = reference.rsplit("/", 1)[-1].partition(":")
        found = [d for d in self.job_definitions.values() if d["jobDefinitionName"] == name]
        if revision:
            return next((d for d in found if str(d["revision"]) == revision), None)
        return max((d for d in found if d["status"] == "ACTIVE"), key=lambda d: int(d["revision"]), default=None)

    def job(self, reference: str) -> Job:
        """Return the job of an id or ARN.

        Raises:
            ClientException: There is no such job.
        """
        job = self.jobs.get(reference.rsplit("/", 1)[-1])
        if job is None:
            raise ClientException(f"Job {reference} does not exist")
        return job

    def queue_environments(self, queue: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a queue's compute environments in their order."""
        order = sorted(queue["computeEnvironmentOrder"], key=lambda entry: int(entry["order"]))
        found = (self.compute_environment(entry["computeEnvironment"]) for entry in order)
        return [environment for environment in found if environment]


def _named(items: dict[str, dict[str, Any]], key: str, name_or_arn: str) -> dict[str, Any] | None:
    return items.get(name_or_arn) or next((item for item in items.values() if item[key] == name_or_arn), None)


class State:
    """All regions. Every reader and writer holds `changed`, which is also how the scheduler is woken."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.regions: defaultdict[str, Region] = defaultdict(Region)
