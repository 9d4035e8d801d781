"""The contract of a deployed cluster: stack outputs, and one SSM parameter with the same as JSON."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from mnp.cluster.contract import Contract, output_name, parameter_name


class ContractOutputs(Construct):
    def __init__(self, scope: Construct, id_: str, *, contract: Contract) -> None:
        super().__init__(scope, id_)
        stack = Stack.of(self)
        ssm.StringParameter(
            self,
            "Parameter",
            parameter_name=parameter_name(contract.cluster),
            description=f"How to use the cluster {contract.cluster}: mnp outputs --cluster {contract.cluster}",
            string_value=stack.to_json_string(contract.model_dump()),
        )
        # The contract repeats the ids of the network stack: whoever reads it should need no second stack.
        stack.template_options.metadata = {"cfn-lint": {"config": {"ignore_checks": ["W6001"]}}}
        for path, value in contract.flat():
            # An output cannot be empty; the parameter holds such a value as it is.
            if value != "":
                CfnOutput(stack, output_name(path), value=str(value))
