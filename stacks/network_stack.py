"""A VPC for clusters: in each of its zones a private subnet for nodes, and a public one for the NAT gateway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import CfnResource, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from mnp.cluster.vpc import ManagedVpc, SharedVpc
from stacks.acknowledge import acknowledge_template_rule
from stacks.network import Network
from stacks.vpc_ip_addresses import NODES, PUBLIC, VpcIpAddresses

# What nodes and their tasks call when there is no NAT gateway:
# https://docs.aws.amazon.com/batch/latest/userguide/vpc-interface-endpoints.html and
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html, checked 2026-11-21.
INTERFACE_ENDPOINTS = {
    "Batch": ec2.InterfaceVpcEndpointAwsService.BATCH,
    "Ecr": ec2.InterfaceVpcEndpointAwsService.ECR,
    "EcrDocker": ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER,
    "Ecs": ec2.InterfaceVpcEndpointAwsService.ECS,
    "EcsAgent": ec2.InterfaceVpcEndpointAwsService.ECS_AGENT,
    "EcsTelemetry": ec2.InterfaceVpcEndpointAwsService.ECS_TELEMETRY,
    "Logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
    "SecretsManager": ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
    "Ssm": ec2.InterfaceVpcEndpointAwsService.SSM,
    "SsmMessages": ec2.InterfaceVpcEndpointAwsService.SSM_MESSAGES,
}


class NetworkStack(Stack):
    """Kept apart from the cluster, which may be replaced under a network that stays."""

    def __init__(
        self, scope: Construct, id_: str, *, vpc: ManagedVpc, availability_zones: Sequence[str], **kwargs: Any
    ) -> None:
        super().__init__(scope, id_, **kwargs)
        self._availability_zones = [*availability_zones]
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=VpcIpAddresses(vpc),
            availability_zones=self._availability_zones,
            # One in each zone: none is paid for traffic across zones, and a zone comes and goes with its own.
            nat_gateways=len(self._availability_zones) if vpc.nat_gateway else 0,
            subnet_configuration=_subnets(vpc),
            enable_dns_support=True,
            enable_dns_hostnames=True,
            # A task's interface may be given this group (see stacks/node_security_group.py): it must keep its rules.
            restrict_default_security_group=False,
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        acknowledge_template_rule(
            self.vpc, "EFA does not cross zones and GPU capacity is sold by zone: the file names the zones", "W3010"
        )
        if isinstance(vpc, SharedVpc):
            self._name_by_zone()
        self._flow_logs()
        if vpc.interface_endpoints:
            self._interface_endpoints(vpc)
        self._export()

    @property
    def availability_zones(self) -> list[str]:
        """The zones of the file: asking AWS for the account's zones would need credentials at synth."""
        return self._availability_zones

    def network(self, availability_zone: str) -> Network:
        """Where a cluster of the zone stands."""
        subnets = {subnet.availability_zone: subnet for subnet in self._node_subnets()}
        return Network(
            vpc=self.vpc,
            subnet_id=subnets[availability_zone].subnet_id,
            default_security_group_id=self.vpc.vpc_default_security_group,
        )

    def _node_subnets(self) -> list[ec2.ISubnet]:
        return [*self.vpc.private_subnets, *self.vpc.isolated_subnets]

    def _name_by_zone(self) -> None:
        """Name a zone's resources by its letter; the CDK counts zones, and one more would replace those after it."""
        for kind, subnets in ((NODES, self._node_subnets()), (PUBLIC, self.vpc.public_subnets)):
            for subnet in subnets:
                zone = subnet.availability_zone
                Tags.of(subnet).add("Name", f"{self.stack_name}/{kind}-{zone}")
                for each in subnet.node.find_all():
                    if isinstance(each, CfnResource):
                        each.override_logical_id(f"{kind}{zone[-1].upper()}{each.node.id}")

    def _export(self) -> None:
        """Export what any cluster here may use: the CDK's own exports depend on which clusters the app holds.

        CloudFormation refuses to take away an export that another stack uses, and with it every later update.
        """
        for value in (self.vpc.vpc_id, self.vpc.vpc_default_security_group):
            self.export_value(value)
        for subnet in self._node_subnets():
            self.export_value(subnet.subnet_id)

    def _flow_logs(self) -> None:
        group = logs.LogGroup(
            self, "FlowLogGroup", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        self.vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))

    def _interface_endpoints(self, vpc: ManagedVpc) -> None:
        """One security group for all of them: HTTPS from the VPC's own range."""
        group = ec2.SecurityGroup(
            self, "Endpoints", vpc=self.vpc, description="Private endpoints of AWS services", allow_all_outbound=False
        )
        group.add_ingress_rule(ec2.Peer.ipv4(str(vpc.cidr)), ec2.Port.HTTPS, "HTTPS from the VPC")
        for name, service in INTERFACE_ENDPOINTS.items():
            self.vpc.add_interface_endpoint(
                f"{name}Endpoint", service=service, private_dns_enabled=True, security_groups=[group], open=False
            )


def _subnets(vpc: ManagedVpc) -> list[ec2.SubnetConfiguration]:
    kind = ec2.SubnetType.PRIVATE_WITH_EGRESS if vpc.nat_gateway else ec2.SubnetType.PRIVATE_ISOLATED
    nodes = ec2.SubnetConfiguration(name=NODES, subnet_type=kind)
    if not vpc.nat_gateway:
        return [nodes]
    return [
        nodes,
        ec2.SubnetConfiguration(name=PUBLIC, subnet_type=ec2.SubnetType.PUBLIC, map_public_ip_on_launch=False),
    ]
