"""A handler for the resource types that only moto's own CloudFormation models know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException
from moto.cloudformation.parsing import generate_resource_name

from mnp.local_aws.cloudformation.resource import Context, Resource, StackResource

if TYPE_CHECKING:
    from collections.abc import Iterator


class MotoModel(Resource):
    """Adapts one of moto's CloudFormationModel classes."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.type_name = model.cloudformation_type()  # type: ignore[misc] # one class serves many types
        self._made: dict[tuple[str, str], Any] = {}

    def create(self, context: Context, properties: dict[str, Any]) -> str:
        made = self._model.create_from_cloudformation_json(
            self._name(context, properties),
            {"Type": self.type_name, "Properties": properties},
            context.account,
            context.region,
            LogicalId=context.logical_id,
            StackId=context.stack_id,
            ResourceType=self.type_name,
        )
        return self._remember(context, made)

    def attributes(self, context: Context, resource: StackResource) -> dict[str, Any]:
        return _Attributes(self._made[context.stack_id, resource.physical_resource_id])

    def update(self, context: Context, resource: StackResource, properties: dict[str, Any]) -> str:
        made = self._model.update_from_cloudformation_json(
            original_resource=self._made.pop((context.stack_id, resource.physical_resource_id)),
            new_resource_name=self._name(context, properties),
            cloudformation_json={"Type": self.type_name, "Properties": properties},
            account_id=context.account,
            region_name=context.region,
        )
        return self._remember(context, made)

    def delete(self, context: Context, resource: StackResource) -> None:
        made = self._made.pop((context.stack_id, resource.physical_resource_id), None)
        if hasattr(made, "delete"):
            made.delete(context.account, context.region)
            return
        self._model.delete_from_cloudformation_json(
            resource.physical_resource_id,
            {"Type": self.type_name, "Properties": resource.properties},
            context.account,
            context.region,
        )

    def _name(self, context: Context, properties: dict[str, Any]) -> str:
        name = properties.get(self._model.cloudformation_name_type() or "")
        return str(name or generate_resource_name(self.type_name, context.stack_name, context.logical_id))

    def _remember(self, context: Context, made: Any) -> str:
        physical_id = str(made.physical_resource_id)
        self._made[context.stack_id, physical_id] = made
        return physical_id


class _Attributes(dict[str, Any]):
    """The attributes of a moto model, asked for one by one: moto has no list of them."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self._made = made

    def __contains__(self, name: object) -> bool:
        try:
            return self[str(name)] is not None
        except (UnformattedGetAttTemplateException, NotImplementedError):
            return False

    def __getitem__(self, name: str) -> Any:
        return self._made.get_cfn_attribute(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())
