"""AWS::Batch::ComputeEnvironment, JobQueue and JobDefinition."""

from __future__ import annotations

from typing import Any

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource, pick, without

_CREATE_ONLY = {"SpotIamFleetRole"}
_SCALING = {"DesiredvCpus", "MaxvCpus", "MinvCpus"}


def _tags(properties: dict[str, Any], context: Context) -> dict[str, Any]:
    tags = {tag["Key"]: tag["Value"] for tag in context.tags(properties)}
    return {"tags": tags} if tags else {}


class ComputeEnvironment(Resource):
    type_name = "AWS::Batch::ComputeEnvironment"
    replaced_by = frozenset({"ComputeEnvironmentName", "EksConfiguration", "Tags", "Type"})

    def replaces(self, resource: StackResource, properties: dict[str, Any]) -> bool:
        """ReplaceComputeEnvironment is true by default: any change but of scaling then makes a new environment."""
        if super().replaces(resource, properties):
            return True
        new = properties.get("ComputeResources", {})
        old = resource.properties.get("ComputeResources", {})
        changed = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        replacing = str(properties.get("ReplaceComputeEnvironment", True)).lower() == "true"
        return bool(changed & _CREATE_ONLY or (replacing and changed - _SCALING))

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = without(properties, "ComputeEnvironmentName", "ReplaceComputeEnvironment", "Tags", "UpdatePolicy")
        wanted["ComputeResources"] = without(wanted.get("ComputeResources", {}), "UpdateToLatestImageVersion")
        name = properties.get("ComputeEnvironmentName") or context.generated_name(limit=128)
        answer = context.call(
            "batch",
            "CreateComputeEnvironment",
            wanted,
            computeEnvironmentName=name,
            **_tags(properties, context),
        )
        arn = str(answer["computeEnvironmentArn"])
        if "UpdatePolicy" in properties:
            context.call("batch", "UpdateComputeEnvironment", pick(properties, "UpdatePolicy"), computeEnvironment=arn)
        return arn

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"ComputeEnvironmentArn": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        wanted = pick(properties, "ComputeResources", "ServiceRole", "State", "UpdatePolicy")
        wanted["ComputeResources"] = without(wanted.get("ComputeResources", {}), *_CREATE_ONLY)
        arn = resource.physical_resource_id
        context.call("batch", "UpdateComputeEnvironment", wanted, computeEnvironment=arn)
        return arn

    def delete(self, context: Context, resource: StackResource) -> None:
        arn = resource.physical_resource_id
        context.call("batch", "UpdateComputeEnvironment", {}, computeEnvironment=arn, state="DISABLED")
        context.call("batch", "DeleteComputeEnvironment", {}, computeEnvironment=arn)


class JobQueue(Resource):
    type_name = "AWS::Batch::JobQueue"
    replaced_by = frozenset({"JobQueueName", "JobQueueType", "Tags"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        wanted = without(properties, "JobQueueName", "Tags")
        name = properties.get("JobQueueName") or context.generated_name(limit=128)
        tags = _tags(properties, context)
        return str(context.call("batch", "CreateJobQueue", wanted, jobQueueName=name, **tags)["jobQueueArn"])

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"JobQueueArn": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        wanted = without(properties, "JobQueueName", "JobQueueType", "Tags")
        context.call("batch", "UpdateJobQueue", wanted, jobQueue=resource.physical_resource_id)
        return resource.physical_resource_id

    def delete(self, context: Context, resource: StackResource) -> None:
        arn = resource.physical_resource_id
        context.call("batch", "UpdateJobQueue", {}, jobQueue=arn, state="DISABLED")
        context.call("batch", "DeleteJobQueue", {}, jobQueue=arn)


class JobDefinition(Resource):
    """A change registers a new revision and, as in AWS, deregisters the one before."""

    type_name = "AWS::Batch::JobDefinition"
    replaced_by = frozenset({"JobDefinitionName"})

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        name = properties.get("JobDefinitionName") or context.generated_name(limit=128)
        return self._register(context, name, properties)

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        del context
        return {"JobDefinitionArn": resource.physical_resource_id}

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        name = resource.physical_resource_id.rsplit("/", 1)[-1].rsplit(":", 1)[0]
        arn = self._register(context, name, properties)
        if not properties.get("ResourceRetentionPolicy", {}).get("SkipDeregisterOnUpdate"):
            context.call("batch", "DeregisterJobDefinition", {}, jobDefinition=resource.physical_resource_id)
        return arn

    def delete(self, context: Context, resource: StackResource) -> None:
        context.call("batch", "DeregisterJobDefinition", {}, jobDefinition=resource.physical_resource_id)

    def _register(self, context: Context, name: str, properties: dict[str, Any]) -> str:
        wanted = without(properties, "JobDefinitionName", "ResourceRetentionPolicy", "Tags")
        tags = _tags(properties, context)
        answer = context.call("batch", "RegisterJobDefinition", wanted, jobDefinitionName=name, **tags)
        return str(answer["jobDefinitionArn"])
