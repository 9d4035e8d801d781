"""AWS::ImageBuilder::Component, ImageRecipe, the configurations, Image, ImagePipeline and LifecyclePolicy."""

from __future__ import annotations

from typing import Any, ClassVar

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, without


class _ImageBuilderResource(Resource):
    """What all of them have in common: `Ref` and `Arn` are the ARN, and tags are a map.

    `kind` is the kind in the names of operations, `arn` the parameter that holds its ARN, `renamed` what the API calls
    otherwise than the template, `unsent` what is CloudFormation's own.
    """

    kind: ClassVar[str]
    arn: ClassVar[str]
    renamed: ClassVar[dict[str, str]] = {}
    unsent: ClassVar[frozenset[str]] = frozenset()

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        tags = {tag["Key"]: tag["Value"] for tag in context.tags(properties)}
        wanted = self._wanted(properties)
        return str(
            context.call("imagebuilder", f"Create{self.kind}", wanted, **({"tags": tags} if tags else {}))[self.arn]
        )

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"Arn": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        arn = resource.physical_resource_id
        if resource.change(properties) - {"Tags"} - self.unsent:
            wanted = without(self._wanted(properties), "Name")
            context.call("imagebuilder", f"Update{self.kind}", wanted, **{self.arn: arn})
        self._retag(context, resource, properties)
        return arn

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("imagebuilder", f"Delete{self.kind}", {}, **{self.arn: resource.physical_resource_id})

    def _wanted(self, properties: dict[str, Any]) -> dict[str, Any]:
        sent = without(properties, "Tags", *self.unsent)
        return {self.renamed.get(name, name): value for name, value in sent.items()}

    def _retag(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> None:
        arn = resource.physical_resource_id
        before, after = (
            {tag["Key"]: tag["Value"] for tag in context.tags(each)} for each in (resource.properties, properties)
        )
        if gone := sorted(before.keys() - after.keys()):
            context.call("imagebuilder", "UntagResource", {}, resourceArn=arn, tagKeys=gone)
        if after != before and after:
            context.call("imagebuilder", "TagResource", {}, resourceArn=arn, tags=after)


class Component(_ImageBuilderResource):
    type_name = "AWS::ImageBuilder::Component"
    kind, arn = "Component", "componentBuildVersionArn"
    renamed: ClassVar[dict[str, str]] = {"Version": "SemanticVersion"}
    replaced_by = frozenset(
        {
            "ChangeDescription",
            "Data",
            "Description",
            "KmsKeyId",
            "Name",
            "Platform",
            "SupportedOsVersions",
            "Uri",
            "Version",
        }
    )


class ImageRecipe(_ImageBuilderResource):
    type_name = "AWS::ImageBuilder::ImageRecipe"
    kind, arn = "ImageRecipe", "imageRecipeArn"
    renamed: ClassVar[dict[str, str]] = {"Version": "SemanticVersion"}
    replaced_by = frozenset(
        {
            "AdditionalInstanceConfiguration",
            "AmiTags",
            "AmiWatermarks",
            "BlockDeviceMappings",
            "Components",
            "Description",
            "Name",
            "ParentImage",
            "Version",
            "WorkingDirectory",
        }
    )


class InfrastructureConfiguration(_ImageBuilderResource):
    type_name = "AWS::ImageBuilder::InfrastructureConfiguration"
    kind, arn = "InfrastructureConfiguration", "infrastructureConfigurationArn"
    replaced_by = frozenset({"Name"})


class DistributionConfiguration(_ImageBuilderResource):
    type_name = "AWS::ImageBuilder::DistributionConfiguration"
    kind, arn = "DistributionConfiguration", "distributionConfigurationArn"
    replaced_by = frozenset({"Name"})


class ImagePipeline(_ImageBuilderResource):
    type_name = "AWS::ImageBuilder::ImagePipeline"
    kind, arn = "ImagePipeline", "imagePipelineArn"
    replaced_by = frozenset({"Name"})


class LifecyclePolicy(_ImageBuilderResource):
    type_name = "AWS::ImageBuilder::LifecyclePolicy"
    kind, arn = "LifecyclePolicy", "lifecyclePolicyArn"
    replaced_by = frozenset({"Name"})


class Image(_ImageBuilderResource):
    """An image is built when it is made; with DeletionSettings its AMIs go when it goes."""

    type_name = "AWS::ImageBuilder::Image"
    kind, arn = "Image", "imageBuildVersionArn"
    unsent = frozenset({"DeletionSettings", "ExecutionRole", "LoggingConfiguration"})
    replaced_by = frozenset(
        {
            "ContainerRecipeArn",
            "DistributionConfigurationArn",
            "EnhancedImageMetadataEnabled",
            "ImageRecipeArn",
            "ImageScanningConfiguration",
            "ImageTestsConfiguration",
            "InfrastructureConfigurationArn",
            "Workflows",
        }
    )

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        arn = resource.physical_resource_id
        image = context.call("imagebuilder", "GetImage", {}, imageBuildVersionArn=arn)["image"]
        return {"Arn": arn, "ImageId": image["outputResources"]["amis"][0]["image"], "Name": image["name"]}

    def delete(self, context: Context, resource: StackResource) -> None:
        settings = resource.properties.get("DeletionSettings")
        if settings is None:
            super().delete(context, resource)
            return
        context.call(
            "imagebuilder",
            "StartResourceStateUpdate",
            settings,
            resourceArn=resource.physical_resource_id,
            state={"status": "DELETED"},
            includeResources={"amis": True, "snapshots": True},
        )
