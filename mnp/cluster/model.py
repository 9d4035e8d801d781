"""The cluster file, typed: what a platform engineer may ask for.

Field descriptions feed the error messages, the JSON Schema and the reference page.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from mnp.cluster.ami import Ami, AmiParameter, Bake, bake_of
from mnp.cluster.base_image import base_image
from mnp.cluster.capacity import CAPACITIES, Capacity, CapacityBlock
from mnp.cluster.frozen import Frozen
from mnp.cluster.instance_types import catalogue
from mnp.cluster.interfaces import Layout
from mnp.cluster.names import NAME_PATTERN, image_parameter_name
from mnp.cluster.vpc import Network, NewVpc, Vpc

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


class Cluster(Frozen):
    """One cluster: five keys are required, everything else has a default worth having."""

    name: str = Field(
        pattern=NAME_PATTERN,
        description="2 to 40 lower-case letters, digits and hyphens; a letter first, no hyphen last",
    )
    region: str = Field(pattern=r"^[a-z]{2,3}(-[a-z]+)+-[0-9]$", description="an AWS region, us-east-1")
    availability_zone: Annotated[str, BeforeValidator(_one_zone)] = Field(
        description="the one Availability Zone of all nodes, us-east-1d"
    )
    instance_type: str = Field(
        description="an EFA-capable GPU or Trainium instance type, p5.48xlarge",
        json_schema_extra={"enum": [*sorted(catalogue())]},
    )
    max_nodes: int = Field(ge=2, le=MOST_NODES, description="2 to 1000: most nodes at one time, over all jobs")

    capacity: Capacity = Field("on_demand", description=CAPACITIES)
    network_interfaces: Layout = Field("shared", description="how IP and EFA share the network cards")
    placement_group: bool | None = Field(
        None, description="place the nodes close together; default: true, unless a capacity block places them"
    )
    vpc: Vpc = Field(
        default_factory=NewVpc,
        description="a new VPC ({cidr: ...}), one that clusters share ({name: ..., zones: [...]})"
        " or an existing one ({id: ..., subnet: ...})",
    )
    ami: Ami = Field(
        "ecs",
        description="ecs (AWS's own ECS image for the accelerators, the newest), ami-...,"
        " {parameter: /...} for an id in SSM, prebaked or {prebaked: {pull_image: true}} for an image of its own",
    )
    efa_installer: bool = Field(
        False,
        description="install AWS's EFA driver, pinned and verified, when a node boots; false: the image's own driver",
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

    @property
    def bake(self) -> Bake | None:
        return bake_of(self.ami)

    @property
    def ami_parameter(self) -> str | None:
        """SSM parameter from which a deploy takes the image's id; None where the file names it or Batch chooses it."""
        if isinstance(self.ami, AmiParameter):
            return self.ami.parameter
        if self.bake:
            return image_parameter_name(self.name)
        base = base_image(catalogue()[self.instance_type])
        return base.parameter if self.ami == "ecs" and not base.is_batchs_choice else None
