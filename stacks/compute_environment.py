"""The dedicated multi-node-parallel compute environment, with its launch template and placement group.

Made of L1 constructs: docs/decisions/0001-l1-for-the-central-resources.md says why.
"""

from __future__ import annotations

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from launch_templates.launch_template import launch_template_data
from mnp.cluster.base_image import base_image
from mnp.cluster.capacity import CapacityBlock
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster


class ComputeEnvironment(Construct):
    """On-demand nodes of one type, none while no job runs.

    Changes reach the nodes in place, because four things stand together: the service-linked role (no service role is
    named), BEST_FIT_PROGRESSIVE, ReplaceComputeEnvironment false, and the launch template by its version number.
    https://docs.aws.amazon.com/batch/latest/userguide/infrastructure-updates.html, checked 2026-11-21.

    A capacity block needs BEST_FIT, which Batch cannot update in place; its environment is replaced instead, and is
    worth no more than the block anyway.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster: Cluster,
        subnet_id: str,
        security_group_id: str,
        instance_profile_arn: str,
        tags: dict[str, str],
    ) -> None:
        super().__init__(scope, id_)
        self.launch_template = ec2.CfnLaunchTemplate(self, "LaunchTemplate", launch_template_data={})
        data = launch_template_data(cluster, security_group_id=security_group_id, tags=tags)
        self.launch_template.add_property_override("LaunchTemplateData", data)
        self.placement_group = _placement_group(self) if cluster.uses_placement_group else None
        instance = catalogue()[cluster.instance_type]
        from_block = isinstance(cluster.capacity, CapacityBlock)
        self.environment = batch.CfnComputeEnvironment(
            self,
            # Of another name for a block: Batch updates no BEST_FIT environment, so going to and fro has to replace it.
            "BlockEnvironment" if from_block else "Environment",
            type="MANAGED",
            state="ENABLED",
            replace_compute_environment=from_block,
            update_policy=batch.CfnComputeEnvironment.UpdatePolicyProperty(
                terminate_jobs_on_update=False, job_execution_timeout_minutes=cluster.max_job_hours * 60
            ),
            compute_resources=batch.CfnComputeEnvironment.ComputeResourcesProperty(
                type="EC2",
                allocation_strategy="BEST_FIT" if from_block else "BEST_FIT_PROGRESSIVE",
                instance_types=[cluster.instance_type],
                minv_cpus=0,
                maxv_cpus=cluster.max_nodes * instance.vcpus,
                subnets=[subnet_id],
                instance_role=instance_profile_arn,
                placement_group=self.placement_group.attr_group_name if self.placement_group else None,
                ec2_configuration=[
                    batch.CfnComputeEnvironment.Ec2ConfigurationObjectProperty(
                        image_type=base_image(instance).image_type, image_id_override=_image_id(self, cluster)
                    )
                ],
                launch_template=batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty(
                    launch_template_id=self.launch_template.ref,
                    version=self.launch_template.attr_latest_version_number,
                ),
            ),
        )


def _image_id(scope: Construct, cluster: Cluster) -> str | None:
    """The image that takes the place of Batch's own; a parameter is read anew by CloudFormation at every deploy."""
    if cluster.ami_parameter:
        return ec2.MachineImage.from_ssm_parameter(cluster.ami_parameter).get_image(scope).image_id
    return None if cluster.ami == "ecs" else str(cluster.ami)


def _placement_group(scope: Construct) -> ec2.CfnPlacementGroup:
    return ec2.CfnPlacementGroup(scope, "PlacementGroup", strategy="cluster")
