"""The VPC of a cluster: a private subnet for the nodes in one zone, and a public one for the NAT gateway."""

from __future__ import annotations

from typing import Any

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from mnp.cluster.model import NewVpc
from mnp.cluster.subnets import node_subnet, public_subnet
from stacks.acknowledge import acknowledge_template_rule
from stacks.network import Network

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

    def __init__(self, scope: Construct, id_: str, *, vpc: NewVpc, availability_zone: str, **kwargs: Any) -> None:
        super().__init__(scope, id_, **kwargs)
        self._availability_zone = availability_zone
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(str(vpc.cidr)),
            availability_zones=[availability_zone],
            nat_gateways=1 if vpc.nat_gateway else 0,
            subnet_configuration=_subnets(vpc),
            enable_dns_support=True,
            enable_dns_hostnames=True,
            # A task's interface may be given this group (see stacks/node_security_group.py): it must keep its rules.
            restrict_default_security_group=False,
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        acknowledge_template_rule(
            self.vpc, "EFA does not cross zones and GPU capacity is sold by zone: the file names the one zone", "W3010"
        )
        self._flow_logs()
        if vpc.interface_endpoints:
            self._interface_endpoints(vpc)
        private = ec2.SubnetType.PRIVATE_WITH_EGRESS if vpc.nat_gateway else ec2.SubnetType.PRIVATE_ISOLATED
        self.network = Network(
            vpc=self.vpc,
            subnet_id=self.vpc.select_subnets(subnet_type=private).subnet_ids[0],
            default_security_group_id=self.vpc.vpc_default_security_group,
        )

    @property
    def availability_zones(self) -> list[str]:
        """The zone of the file: asking AWS for the account's zones would need credentials at synth."""
        return [self._availability_zone]

    def _flow_logs(self) -> None:
        group = logs.LogGroup(
            self, "FlowLogGroup", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        self.vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))

    def _interface_endpoints(self, vpc: NewVpc) -> None:
        """One security group for all of them: HTTPS from the VPC's own range."""
        group = ec2.SecurityGroup(
            self, "Endpoints", vpc=self.vpc, description="Private endpoints of AWS services", allow_all_outbound=False
        )
        group.add_ingress_rule(ec2.Peer.ipv4(str(vpc.cidr)), ec2.Port.HTTPS, "HTTPS from the VPC")
        for name, service in INTERFACE_ENDPOINTS.items():
            self.vpc.add_interface_endpoint(
                f"{name}Endpoint", service=service, private_dns_enabled=True, security_groups=[group], open=False
            )


def _subnets(vpc: NewVpc) -> list[ec2.SubnetConfiguration]:
    kind = ec2.SubnetType.PRIVATE_WITH_EGRESS if vpc.nat_gateway else ec2.SubnetType.PRIVATE_ISOLATED
    nodes = ec2.SubnetConfiguration(name="Nodes", subnet_type=kind, cidr_mask=node_subnet(vpc.cidr).prefixlen)
    if not vpc.nat_gateway:
        return [nodes]
    public = ec2.SubnetConfiguration(
        name="Public",
        subnet_type=ec2.SubnetType.PUBLIC,
        cidr_mask=public_subnet(vpc.cidr).prefixlen,
        map_public_ip_on_launch=False,
    )
    return [nodes, public]
