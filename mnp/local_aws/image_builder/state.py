"""What Image Builder remembers, by region."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mnp.local_aws.clients import ACCOUNT_ID
from mnp.local_aws.image_builder.errors import NotFoundError

if TYPE_CHECKING:
    from mnp.local_aws.clients import Clients


@dataclass
class Region:
    """One region's resources as the API describes them, by ARN."""

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)

    def get(self, arn: str) -> dict[str, Any]:
        """Return a resource.

        Raises:
            NotFoundError: There is none.
        """
        if arn not in self.resources:
            raise NotFoundError(f"The resource with ARN '{arn}' does not exist.")
        return self.resources[arn]

    def named(self, prefix: str) -> list[str]:
        """Return the ARNs that begin so."""
        return [arn for arn in self.resources if arn.startswith(prefix)]

    def next_build(self, prefix: str) -> int:
        """Return the number of the next build of a version; a number is not given twice while a later one is there."""
        return max((int(arn.removeprefix(prefix)) for arn in self.named(prefix)), default=0) + 1

    def users(self, arn: str) -> list[str]:
        """Return the ARNs of the resources that refer to one. An image keeps a copy of what it was made by.

        https://docs.aws.amazon.com/imagebuilder/latest/userguide/delete-resources.html, checked 2026-11-21: pipelines
        go before recipes, and recipes before the rest.
        """
        return [
            other
            for other, resource in self.resources.items()
            if ":image/" not in other and arn in _texts({**resource, "arn": None})
        ]


def _texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for each in value.values() for text in _texts(each)}
    if isinstance(value, list):
        return {text for each in value for text in _texts(each)}
    return {value} if isinstance(value, str) else set()


class State:
    """All regions, under one lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.regions: defaultdict[str, Region] = defaultdict(Region)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One API call: its parameters, and what it works on."""

    parameters: dict[str, Any]
    region_name: str
    region: Region
    clients: Clients

    def client(self, service: str) -> Any:
        return self.clients.get(service, self.region_name)

    def arn(self, resource: str) -> str:
        return f"arn:aws:imagebuilder:{self.region_name}:{ACCOUNT_ID}:{resource}"

    def named_arn(self, kind: str) -> str:
        """The ARN that a kind of resource gets by its name, in which case, spaces and underscores do not count."""
        return self.arn(f"{kind}/{re.sub('[ _]', '-', self.parameters['name'].lower())}")

    def described(self, arn: str, *left_out: str) -> dict[str, Any]:
        """The call's parameters as the description of the resource that they made."""
        unsaid = {"clientToken", *left_out}
        return {"arn": arn, **{key: value for key, value in self.parameters.items() if key not in unsaid}}
