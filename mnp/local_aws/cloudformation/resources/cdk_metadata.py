"""AWS::CDK::Metadata: usage data of the CDK, which stays here."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource


class Metadata(Resource):
    type_name = "AWS::CDK::Metadata"

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        del properties
        return context.logical_id

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        del context, properties
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        del context, resource
