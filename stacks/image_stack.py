"""The node image of one cluster, baked by EC2 Image Builder: docs/decisions/0007-a-prebaked-image.md says why so."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnDeletionPolicy, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_imagebuilder as imagebuilder
from aws_cdk import aws_logs as logs
from constructs import Construct

from launch_templates.prebaked_image import component_document, recipe, version_of
from mnp.cluster.model import Cluster
from mnp.cluster.names import CLUSTER_TAG, image_parameter_name, image_stack_name
from stacks.image_roles import BuildRole, LifecycleRole
from stacks.network import Network, network_of

# x86_64, as every type of the catalogue; a GPU is not needed to compile the EFA module against the image's kernel.
# Several generations, because no region and zone has all of them; Image Builder takes one that is there.
BUILD_HOSTS = ("m7i.xlarge", "m6i.xlarge", "m5.xlarge")
# Mondays at 6:00 UTC: what AWS published in a week costs one build.
SCHEDULE = "cron(0 6 ? * mon *)"
# An environment names an image by its id until the next deploy. So an image goes only when it is half a year old, three
# are newer, and no node was launched from it for half a year.
KEPT_MONTHS = 6
KEPT_IMAGES = 3


class ImageStack(Stack):
    """`network` is None where the file names an existing VPC; the build host stands where the nodes do."""

    def __init__(self, scope: Construct, id_: str, *, cluster: Cluster, network: Network | None, **kwargs: Any) -> None:
        super().__init__(scope, id_, **kwargs)
        self._name = image_stack_name(cluster.name)
        self._cluster_tag = {CLUSTER_TAG: cluster.name}
        self._log_group = logs.LogGroup(
            self,
            "LogGroup",
            # The one prefix that the service-linked role and the build host may write to.
            log_group_name=f"/aws/imagebuilder/{self._name}",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self._recipe = self._add_recipe(cluster)
        self._infrastructure = self._add_infrastructure(cluster, network_of(self, cluster, network))
        self._distribution = self._add_distribution(cluster)
        pipeline = self._add_pipeline()
        lifecycle_role = LifecycleRole(self, "LifecycleRole").role
        policy = self._add_lifecycle_policy(lifecycle_role.role_arn)
        self._add_image(lifecycle_role.role_arn).node.add_dependency(pipeline, policy)

    def _add_recipe(self, cluster: Cluster) -> imagebuilder.CfnImageRecipe:
        document = component_document(cluster)
        component = imagebuilder.CfnComponent(
            self,
            "Component",
            name=self._name,
            version=version_of(document),
            platform="Linux",
            data=document,
        )
        properties = recipe(cluster)
        found = imagebuilder.CfnImageRecipe(
            self,
            "Recipe",
            name=self._name,
            version=version_of([document, properties]),
            parent_image=properties["ParentImage"],
            components=[imagebuilder.CfnImageRecipe.ComponentConfigurationProperty(component_arn=component.attr_arn)],
        )
        found.add_property_override("BlockDeviceMappings", properties["BlockDeviceMappings"])
        return found

    def _add_infrastructure(self, cluster: Cluster, network: Network) -> imagebuilder.CfnInfrastructureConfiguration:
        group = ec2.SecurityGroup(
            self,
            "BuildHost",
            vpc=network.vpc,
            description="Build host of a node image: nothing comes in",
            allow_all_outbound=True,
        )
        role = BuildRole(self, "BuildRole", cluster=cluster)
        found = imagebuilder.CfnInfrastructureConfiguration(
            self,
            "Infrastructure",
            name=self._name,
            instance_types=[*BUILD_HOSTS],
            instance_profile_name=role.profile.ref,
            subnet_id=network.subnet_id,
            security_group_ids=[group.security_group_id],
            terminate_instance_on_failure=True,
            instance_metadata_options=imagebuilder.CfnInfrastructureConfiguration.InstanceMetadataOptionsProperty(
                http_tokens="required", http_put_response_hop_limit=1
            ),
            resource_tags=self._cluster_tag,
        )
        # The profile brings the role, but not the role's own policy, which must be there before a build.
        found.node.add_dependency(role.role)
        return found

    def _add_distribution(self, cluster: Cluster) -> imagebuilder.CfnDistributionConfiguration:
        """The image stays in the account and region; its id goes to the parameter that the cluster's stack reads.

        As text: what is declared to be an image id is stored only after a check in the background, and a deploy
        could still read the old one. CloudFormation checks the id itself.
        https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-ec2-aliases.html, checked
        2026-11-21.
        """
        return imagebuilder.CfnDistributionConfiguration(
            self,
            "Distribution",
            name=self._name,
            distributions=[
                imagebuilder.CfnDistributionConfiguration.DistributionProperty(
                    region=self.region,
                    ami_distribution_configuration={
                        "Name": f"mnp-{cluster.name} {{{{ imagebuilder:buildDate }}}}",
                        "AmiTags": {"Name": f"mnp-{cluster.name}", **self._cluster_tag, **cluster.tags},
                    },
                    ssm_parameter_configurations=[
                        imagebuilder.CfnDistributionConfiguration.SsmParameterConfigurationProperty(
                            parameter_name=image_parameter_name(cluster.name), data_type="text"
                        )
                    ],
                )
            ],
        )

    def _add_pipeline(self) -> imagebuilder.CfnImagePipeline:
        """Builds again when AWS has published a newer parent image.

        A new value of the parameter that the recipe names counts as such:
        https://docs.aws.amazon.com/imagebuilder/latest/APIReference/API_Schedule.html, checked 2026-11-21.
        """
        return imagebuilder.CfnImagePipeline(
            self,
            "Pipeline",
            name=self._name,
            image_recipe_arn=self._recipe.attr_arn,
            infrastructure_configuration_arn=self._infrastructure.attr_arn,
            distribution_configuration_arn=self._distribution.attr_arn,
            schedule=imagebuilder.CfnImagePipeline.ScheduleProperty(
                schedule_expression=SCHEDULE,
                pipeline_execution_start_condition="EXPRESSION_MATCH_AND_DEPENDENCY_UPDATES_AVAILABLE",
            ),
            image_tags=self._cluster_tag,
            logging_configuration=imagebuilder.CfnImagePipeline.PipelineLoggingConfigurationProperty(
                image_log_group_name=self._log_group.log_group_name,
                pipeline_log_group_name=self._log_group.log_group_name,
            ),
        )

    def _add_lifecycle_policy(self, role_arn: str) -> imagebuilder.CfnLifecyclePolicy:
        in_use = imagebuilder.CfnLifecyclePolicy.ExclusionRulesProperty(
            amis=imagebuilder.CfnLifecyclePolicy.AmiExclusionRulesProperty(
                last_launched=imagebuilder.CfnLifecyclePolicy.LastLaunchedProperty(value=KEPT_MONTHS, unit="MONTHS")
            )
        )
        return imagebuilder.CfnLifecyclePolicy(
            self,
            "Lifecycle",
            name=self._name,
            execution_role=role_arn,
            resource_type="AMI_IMAGE",
            resource_selection=imagebuilder.CfnLifecyclePolicy.ResourceSelectionProperty(tag_map=self._cluster_tag),
            policy_details=[
                imagebuilder.CfnLifecyclePolicy.PolicyDetailProperty(
                    action=imagebuilder.CfnLifecyclePolicy.ActionProperty(
                        type="DELETE",
                        include_resources=imagebuilder.CfnLifecyclePolicy.IncludeResourcesProperty(
                            amis=True, snapshots=True
                        ),
                    ),
                    filter=imagebuilder.CfnLifecyclePolicy.FilterProperty(
                        type="AGE", value=KEPT_MONTHS, unit="MONTHS", retain_at_least=KEPT_IMAGES
                    ),
                    exclusion_rules=in_use,
                )
            ],
        )

    def _add_image(self, deletion_role_arn: str) -> imagebuilder.CfnImage:
        """The image of this recipe, built during the deploy.

        A changed recipe makes another. The one before stays, for the nodes boot it until the cluster's stack is
        deployed in its turn; the lifecycle policy removes it later. With the stack, the last one goes.

        It is made last, so that no failure of another resource takes back an image whose id is in the parameter.
        """
        image = imagebuilder.CfnImage(
            self,
            "Image",
            image_recipe_arn=self._recipe.attr_arn,
            infrastructure_configuration_arn=self._infrastructure.attr_arn,
            distribution_configuration_arn=self._distribution.attr_arn,
            deletion_settings=imagebuilder.CfnImage.DeletionSettingsProperty(execution_role=deletion_role_arn),
            logging_configuration=imagebuilder.CfnImage.ImageLoggingConfigurationProperty(
                log_group_name=self._log_group.log_group_name
            ),
        )
        image.cfn_options.deletion_policy = CfnDeletionPolicy.DELETE
        image.cfn_options.update_replace_policy = CfnDeletionPolicy.RETAIN
        return image
