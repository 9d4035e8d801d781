"""AWS::EC2::LaunchTemplate: a change of its data makes a new version."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick


class LaunchTemplate(Resource):
    type_name = "AWS::EC2::LaunchTemplate"
    replaced_by = frozenset({"LaunchTemplateName"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "LaunchTemplateData", "TagSpecifications", "VersionDescription")
        name = properties.get("LaunchTemplateName") or context.generated_name(limit=128)
        answer = context.call("ec2", "CreateLaunchTemplate", wanted, LaunchTemplateName=name)
        return str(answer["LaunchTemplate"]["LaunchTemplateId"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        template_id = resource.physical_resource_id
        answer = context.call("ec2", "DescribeLaunchTemplates", {}, LaunchTemplateIds=[template_id])
        template = answer["LaunchTemplates"][0]
        return {
            "LaunchTemplateId": template_id,
            "DefaultVersionNumber": str(template["DefaultVersionNumber"]),
            "LatestVersionNumber": str(template["LatestVersionNumber"]),
        }

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        template_id = resource.physical_resource_id
        if resource.change(properties) & {"LaunchTemplateData", "VersionDescription"}:
            wanted = pick(properties, "LaunchTemplateData", "VersionDescription")
            context.call("ec2", "CreateLaunchTemplateVersion", wanted, LaunchTemplateId=template_id)
        return template_id

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("ec2", "DeleteLaunchTemplate", {}, LaunchTemplateId=resource.physical_resource_id)
