"""What the cluster files of one app must not do to each other; each is right by itself already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mnp.cluster.cluster_file import ClusterFile
from mnp.cluster.plan import plan
from mnp.cluster.problems import ClusterFileError, Problem, shown
from mnp.cluster.vpc import SharedVpc


def refuse_conflicts(files: Sequence[ClusterFile]) -> None:
    """Compare each file with those before it.

    Raises:
        ClusterFileError: of the first file that does not go with the others, with all the reasons.
    """
    for number, file in enumerate(files):
        problems = [problem for rule in RULES for problem in rule(file, files[:number])]
        if problems:
            raise ClusterFileError(file.path, problems)


def names_differ(file: ClusterFile, others: Sequence[ClusterFile]) -> Iterator[Problem]:
    name = file.cluster.name
    if other := next((other for other in others if other.cluster.name == name), None):
        reason = f"{other.path} has the same name, and both would make the same stacks"
        yield Problem(key="name", message="taken", got=shown(name), reason=reason)


def shared_vpc_is_described_alike(file: ClusterFile, others: Sequence[ClusterFile]) -> Iterator[Problem]:
    vpc = file.cluster.vpc
    if not isinstance(vpc, SharedVpc):
        return
    other = next((other for other in others if _shared_vpc(other) == _shared_vpc(file)), None)
    if other is None:
        return
    for key in SharedVpc.model_fields:
        mine, theirs = getattr(vpc, key), getattr(other.cluster.vpc, key)
        if mine != theirs:
            yield Problem(
                key=f"vpc.{key}",
                message=f"differs from {other.path}",
                got=shown(mine),
                allowed=shown(theirs),
                reason=f"both files make the shared VPC {vpc.name} of {file.cluster.region}, each the whole of it",
                fix="write the same vpc in every file that shares it",
            )


def zone_holds_all_clusters(file: ClusterFile, others: Sequence[ClusterFile]) -> Iterator[Problem]:
    vpc = file.cluster.vpc
    if not isinstance(vpc, SharedVpc):
        return
    needed = plan(file.cluster).addresses_needed
    neighbours = {other.path: plan(other.cluster).addresses_needed for other in others if _same_subnet(other, file)}
    if neighbours and needed + sum(neighbours.values()) > vpc.node_addresses:
        theirs = ", ".join(f"{addresses} by {path}" for path, addresses in neighbours.items())
        yield Problem(
            key="max_nodes",
            message=f"too many nodes together in {file.cluster.availability_zone} of the shared VPC {vpc.name}",
            got=f"{needed} addresses at full size",
            allowed=f"{max(0, vpc.node_addresses - sum(neighbours.values()))} of {vpc.node_addresses}:"
            f" taken are {theirs}",
            reason=f"clusters of a zone stand in one subnet, here {vpc.node_subnet(file.cluster.availability_zone)}",
            fix="fewer nodes, another zone, or a VPC of its own",
        )


def _shared_vpc(file: ClusterFile) -> tuple[str, str] | None:
    """Region and name: a name in two regions is two VPCs."""
    vpc = file.cluster.vpc
    return (file.cluster.region, vpc.name) if isinstance(vpc, SharedVpc) else None


def _same_subnet(one: ClusterFile, other: ClusterFile) -> bool:
    mine, theirs = one.cluster, other.cluster
    return (mine.region, mine.vpc, mine.availability_zone) == (theirs.region, theirs.vpc, theirs.availability_zone)


RULES = (names_differ, shared_vpc_is_described_alike, zone_holds_all_clusters)
