"""The cluster file, typed: what a platform engineer may ask for.

Field descriptions feed the error messages, the JSON Schema and the reference page.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from mnp.cluster.instance_types import catalogue
from mnp.cluster.interfaces import Layout

# The PyTorch image that AWS keeps: NCCL 2.30, EFA 1.49 with aws-ofi-nccl 1.20, CUDA 13.3. Source:
# https://github.com/aws/deep-learning-containers (release 2026-07-20, patched until 2027-07-20), checked 2026-11-21.
DEFAULT_IMAGE = "public.ecr.aws/deep-learning-containers/pytorch:2.13-cu133-amzn2023"

# A running job ends at latest after this time when the environment is updated under it: 7,200 minutes.
# https://docs.aws.amazon.com/batch/latest/APIReference/API_UpdatePolicy.html, checked 2026-11-21.
LONGEST_JOB_HOURS = 120
# A job may stand at the head of its queue for 600 to 86,400 seconds before a state time limit acts.
# https://docs.aws.amazon.com/batch/latest/APIReference/API_JobStateTimeLimitAction.html, checked 2026-11-21.
LONGEST_QUEUE_HOURS = 24
# One ECS cluster holds 1,000 instances for a multi-node parallel job.
# https://docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html, checked 2026-11-21.
MOST_NODES = 1000
# EC2 keeps 50 tags a resource; some are ours. https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
MOST_TAGS = 40


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Reservation(_Frozen):
    """An On-Demand Capacity Reservation by id, or a resource group of them by ARN. Nodes run in it and nowhere else."""

    reservation: str = Field(
        pattern=r"^(cr-[0-9a-f]{8,17}|arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_.-]+)$",
        description="a Capacity Reservation id, cr-0123456789abcdef0, or the ARN of a resource group of reservations",
    )

    @property
    def is_group(self) -> bool:
        return self.reservation.startswith("arn:")


class CapacityBlock(_Frozen):
    """A Capacity Block for ML, by id. AWS places its instances, and its environment lives as long as the block."""

    capacity_block: str = Field(
        pattern=r"^cr-[0-9a-f]{8,17}$", description="a Capacity Block's id, cr-0123456789abcdef0"
    )


CAPACITIES = (
    "on_demand, reservations_only (any open reservation of the account that matches, never on demand),"
    " {reservation: cr-... or a group's ARN} or {capacity_block: cr-...}"
)


def _capacity_tag(value: Any) -> str:
    if isinstance(value, (Reservation, CapacityBlock)):
        return type(value).__name__
    if isinstance(value, dict):
        return "CapacityBlock" if "capacity_block" in value else "Reservation"
    return "Word"


def _not_spot(value: Any) -> Any:
    if isinstance(value, str) and value.lower() == "spot":
        raise PydanticCustomError(
            "mnp",
            "Spot capacity cannot carry multi-node parallel jobs",
            {
                "allowed": CAPACITIES,
                "reason": "AWS Batch leaves multi-node parallel jobs on a Spot environment in RUNNABLE for ever",
                "fix": "capacity: on_demand",
                "source": "https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html",
            },
        )
    return value


Capacity = Annotated[
    Annotated[Literal["on_demand", "reservations_only"], Tag("Word")]
    | Annotated[Reservation, Tag("Reservation")]
    | Annotated[CapacityBlock, Tag("CapacityBlock")],
    Discriminator(_capacity_tag),
    BeforeValidator(_not_spot),
]


class AmiParameter(_Frozen):
    """An SSM parameter that holds an image id; read anew at every deploy."""

    parameter: str = Field(
        pattern=r"^/[A-Za-z0-9_.\-/]{1,1000}$", description="name of the SSM parameter, /team/images/gpu"
    )


def _ami_tag(value: Any) -> str:
    return "AmiParameter" if isinstance(value, (dict, AmiParameter)) else "ImageId"


Ami = Annotated[
    Annotated[Annotated[str, Field(pattern=r"^(ecs|ami-[0-9a-f]{8,17})$")], Tag("ImageId")]
    | Annotated[AmiParameter, Tag("AmiParameter")],
    Discriminator(_ami_tag),
]


def _network(value: Any) -> IPv4Network:
    try:
        # As text, because a bare number would pass for an address.
        return IPv4Network(str(value))
    except ValueError as error:
        notes = {"allowed": "address/prefix with no host bits, 10.0.0.0/16", "reason": str(error)}
        raise PydanticCustomError("mnp", "not an IPv4 network", notes) from None


Network = Annotated[IPv4Network, BeforeValidator(_network)]


class NewVpc(_Frozen):
    """A VPC of the cluster's own: a private subnet for the nodes, a public one for the NAT gateway."""

    cidr: Network = Field(IPv4Network("10.0.0.0/16"), description="IPv4 range of the VPC, /16 to /26")
    nat_gateway: bool = Field(True, description="a NAT gateway, by which nodes reach public images and the internet")
    interface_endpoints: bool = Field(
        False, description="private endpoints for ECR, ECS, CloudWatch Logs, Secrets Manager, SSM and Batch"
    )


class ExistingVpc(_Frozen):
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
    if isinstance(value, ExistingVpc):
        return "existing"
    return "existing" if isinstance(value, dict) and {"id", "subnet"} & value.keys() else "new"


Vpc = Annotated[Annotated[NewVpc, Tag("new")] | Annotated[ExistingVpc, Tag("existing")], Discriminator(_vpc_tag)]


def _one_zone(value: Any) -> Any:
    if isinstance(value, list):
        raise PydanticCustomError(
            "mnp",
            "one zone, not a list",
            {
                "allowed": "one Availability Zone name, us-east-1a",
                "reason": "EFA traffic cannot cross Availability Zones",
                "fix": f"availability_zone: {value[0]}" if value else None,
                "source": "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
            },
        )
    return value


def _no_own_tags(tags: dict[str, str]) -> dict[str, str]:
    for key in tags:
        if key.lower().startswith(("aws:", "mnp:")):
            raise PydanticCustomError(
                "mnp",
                "a tag key that is taken",
                {
                    "allowed": "keys that start with neither aws: nor mnp:",
                    "reason": f"{key!r} belongs to AWS or to mnp",
                },
            )
    return tags


class Cluster(_Frozen):
    """One cluster: five keys are required, everything else has a default worth having."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,38}[a-z0-9]$",
        description="2 to 40 lower-case letters, digits and hyphens; a letter first, no hyphen last",
    )
    region: str = Field(pattern=r"^[a-z]{2,3}(-[a-z]+)+-[0-9]$", description="an AWS region, us-east-1")
    availability_zone: Annotated[str, BeforeValidator(_one_zone)] = Field(
        description="the one Availability Zone of all nodes, us-east-1d"
    )
    instance_type: str = Field(
        description="an EFA-capable GPU instance type, p5.48xlarge", json_schema_extra={"enum": [*sorted(catalogue())]}
    )
    max_nodes: int = Field(ge=2, le=MOST_NODES, description="2 to 1000: most nodes at one time, over all jobs")

    capacity: Capacity = Field("on_demand", description=CAPACITIES)
    network_interfaces: Layout = Field("shared", description="how IP and EFA share the network cards")
    placement_group: bool | None = Field(
        None, description="place the nodes close together; default: true, unless a capacity block places them"
    )
    vpc: Vpc = Field(
        default_factory=NewVpc,
        description="a new VPC ({cidr: ...}) or an existing one ({id: ..., subnet: ...})",
    )
    ami: Ami = Field(
        "ecs", description="ecs (Batch's own GPU image, the newest), ami-..., or {parameter: /...} for an id in SSM"
    )
    ssh_cidrs: tuple[Network, ...] = Field(
        (), strict=False, description="IPv4 ranges from which SSH to the nodes is allowed; none by default"
    )
    ssh_open_to_world: bool = Field(False, description="must be true before ssh_cidrs may hold 0.0.0.0/0")
    root_volume_gib: int = Field(
        300,
        ge=100,
        le=16384,
        description="100 to 16384: encrypted gp3 root volume of a node, GiB; container images live on it",
    )
    scratch: bool = Field(False, description="RAID 0 of the node's NVMe disks, mounted at /scratch")
    image: str = Field(
        DEFAULT_IMAGE,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$",
        description="container image of the smoke test, by explicit tag or digest",
    )
    max_job_hours: int = Field(
        24,
        ge=1,
        le=LONGEST_JOB_HOURS,
        description="1 to 120: longest job, hours; an update of the environment waits that long for it",
    )
    max_queue_hours: int = Field(
        LONGEST_QUEUE_HOURS,
        ge=1,
        le=LONGEST_QUEUE_HOURS,
        description="1 to 24: hours that a job may wait for capacity at the head of the queue before it is cancelled",
    )
    tags: Annotated[dict[str, str], AfterValidator(_no_own_tags)] = Field(
        default_factory=dict,
        max_length=MOST_TAGS,
        description="at most 40 tags of every resource, nodes and volumes included",
    )

    @property
    def uses_placement_group(self) -> bool:
        if self.placement_group is None:
            return not isinstance(self.capacity, CapacityBlock)
        return self.placement_group
