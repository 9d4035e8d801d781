"""`vpc` of the cluster file: the network in which the nodes stand."""

from __future__ import annotations

from abc import abstractmethod
from ipaddress import IPv4Network
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from mnp.cluster.frozen import Frozen
from mnp.cluster.names import NAME_PATTERN
from mnp.cluster.subnets import (
    INTERFACE_ENDPOINTS,
    node_subnet,
    public_subnet,
    shared_node_subnet,
    shared_public_subnet,
    usable_addresses,
)


def _network(value: Any) -> IPv4Network:
    try:
        # As text, because a bare number would pass for an address.
        return IPv4Network(str(value))
    except ValueError as error:
        notes = {"allowed": "address/prefix with no host bits, 10.0.0.0/16", "reason": str(error)}
        raise PydanticCustomError("mnp", "not an IPv4 network", notes) from None


Network = Annotated[IPv4Network, BeforeValidator(_network)]


def _in_order(zones: tuple[str, ...]) -> tuple[str, ...]:
    """Two files that name the same zones in another order mean the same VPC."""
    return tuple(sorted(zones))


class ManagedVpc(Frozen):
    """A VPC that our stacks make, with a private subnet for nodes and a public one in each of its zones."""

    # The nodes' subnet of a zone has a prefix that is longer than the VPC's by this.
    node_subnet_bits: ClassVar[int]
    # The longest prefix of which every subnet is one that AWS allows.
    smallest_prefix: ClassVar[int]

    cidr: Network = Field(IPv4Network("10.0.0.0/16"), description="IPv4 range of the VPC, /16 to /26")
    nat_gateway: bool = Field(
        True, description="a NAT gateway in each zone, by which nodes reach public images and the internet"
    )
    interface_endpoints: bool = Field(
        False, description="private endpoints for ECR, ECS, CloudWatch Logs, Secrets Manager, SSM and Batch"
    )

    @abstractmethod
    def node_subnet(self, zone: str) -> IPv4Network:
        """The private subnet of the zone's nodes."""

    @abstractmethod
    def public_subnet(self, zone: str) -> IPv4Network:
        """The public subnet of the zone's NAT gateway."""

    @property
    def node_subnet_prefix(self) -> int:
        return self.cidr.prefixlen + self.node_subnet_bits

    @property
    def node_addresses(self) -> int:
        """Addresses for nodes in one zone; it is the same in each."""
        one = IPv4Network((0, self.node_subnet_prefix))
        return usable_addresses(one, interface_endpoints=INTERFACE_ENDPOINTS if self.interface_endpoints else 0)


class NewVpc(ManagedVpc):
    """A VPC of the cluster's own: a private subnet for the nodes, a public one for the NAT gateway."""

    node_subnet_bits: ClassVar[int] = 1
    # A /27 would leave the nodes' half too small for two nodes and the public /28 no place beside it.
    smallest_prefix: ClassVar[int] = 26

    def node_subnet(self, zone: str) -> IPv4Network:
        del zone  # there is one
        return node_subnet(self.cidr)

    def public_subnet(self, zone: str) -> IPv4Network:
        del zone  # there is one
        return public_subnet(self.cidr)


class SharedVpc(ManagedVpc):
    """A VPC that several clusters share. Every file that uses it describes the whole of it, in the same words."""

    node_subnet_bits: ClassVar[int] = 4
    # Eight public /28 fill the second half of a /24, and the nodes' eighths of its first half are /28 too.
    smallest_prefix: ClassVar[int] = 24

    cidr: Network = Field(IPv4Network("10.0.0.0/16"), description="IPv4 range of the VPC, /16 to /24")
    name: str = Field(
        pattern=NAME_PATTERN,
        description="2 to 40 lower-case letters, digits and hyphens; each shared VPC of a region has its own",
    )
    zones: Annotated[tuple[str, ...], AfterValidator(_in_order)] = Field(
        strict=False,
        min_length=1,
        description="every zone in which the VPC has subnets, [us-east-1a, us-east-1d]; letters a to h",
    )

    def node_subnet(self, zone: str) -> IPv4Network:
        return shared_node_subnet(self.cidr, zone)

    def public_subnet(self, zone: str) -> IPv4Network:
        return shared_public_subnet(self.cidr, zone)


class ExistingVpc(Frozen):
    """A VPC that is there already. Its subnet must be private, in the cluster's zone, with a way to S3, ECR and ECS."""

    id: str = Field(pattern=r"^vpc-[0-9a-f]{8,17}$", description="a VPC id, vpc-0123456789abcdef0")
    subnet: str = Field(
        pattern=r"^subnet-[0-9a-f]{8,17}$",
        description="id of the nodes' private subnet in the cluster's zone",
    )
    default_security_group: str | None = Field(
        None,
        pattern=r"^sg-[0-9a-f]{8,17}$",
        description="id of the VPC's default security group; if given, traffic between it and the nodes is allowed",
    )


def _vpc_tag(value: Any) -> str:
    keys = value.keys() if isinstance(value, dict) else ()
    if isinstance(value, ExistingVpc) or {"id", "subnet"} & {*keys}:
        return "existing"
    return "shared" if isinstance(value, SharedVpc) or {"name", "zones"} & {*keys} else "new"


Vpc = Annotated[
    Annotated[NewVpc, Tag("new")] | Annotated[SharedVpc, Tag("shared")] | Annotated[ExistingVpc, Tag("existing")],
    Discriminator(_vpc_tag),
]
