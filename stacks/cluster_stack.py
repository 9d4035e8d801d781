"""One cluster: everything between a network and a queue that runs jobs across nodes."""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from constructs import Construct

from mnp.cluster.contract import Contract
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from mnp.cluster.names import CLUSTER_TAG, LOG_GROUP, RESULTS_PREFIX, SCRATCH, queue_name
from mnp.cluster.node_shape import node_shape
from stacks.cluster_secret import ClusterSecret
from stacks.compute_environment import ComputeEnvironment
from stacks.contract_outputs import ContractOutputs
from stacks.job_queue import JobQueue
from stacks.network import Network, network_of
from stacks.node_code import NodeCode
from stacks.node_security_group import NodeSecurityGroup
from stacks.results_bucket import ResultsBucket
from stacks.roles import ExecutionRole, InstanceRole, JobRole
from stacks.smoke_job_definition import SmokeJobDefinition
from stacks.submitter_policy import SubmitterPolicy


class ClusterStack(Stack):
    """`network` is None where the file names an existing VPC."""

    def __init__(self, scope: Construct, id_: str, *, cluster: Cluster, network: Network | None, **kwargs: Any) -> None:
        super().__init__(scope, id_, **kwargs)
        self.cluster = cluster
        self.network = network_of(self, cluster, network)
        self.security_group = NodeSecurityGroup(
            self, "SecurityGroup", network=self.network, ssh_cidrs=cluster.ssh_cidrs
        )
        self.instance_role = InstanceRole(self, "InstanceRole")
        self.compute_environment = ComputeEnvironment(
            self,
            "ComputeEnvironment",
            cluster=cluster,
            subnet_id=self.network.subnet_id,
            security_group_id=self.security_group.group_id,
            instance_profile_arn=self.instance_role.profile.attr_arn,
            tags={"Name": f"mnp-{cluster.name}", CLUSTER_TAG: cluster.name, **cluster.tags},
        )
        self.queue = JobQueue(
            self,
            "JobQueue",
            cluster=cluster,
            compute_environment_arn=self.compute_environment.environment.attr_compute_environment_arn,
        )
        self._add_jobs()
        self.contract = ContractOutputs(self, "Contract", contract=self._contract())

    def _add_jobs(self) -> None:
        self.bucket = ResultsBucket(self, "Results").bucket
        self.secret = ClusterSecret(self, "Secret", cluster=self.cluster.name).secret
        node_code = NodeCode(self, "NodeCode")
        self.job_role = JobRole(self, "JobRole", bucket=self.bucket, node_code=node_code.asset).role
        self.execution_role = ExecutionRole(self, "ExecutionRole", secret=self.secret).role
        self.smoke = SmokeJobDefinition(
            self,
            "Smoke",
            cluster=self.cluster,
            region=self.region,
            bucket=self.bucket,
            secret=self.secret,
            node_code=node_code,
            job_role=self.job_role,
            execution_role=self.execution_role,
        )
        self.submitter = SubmitterPolicy(
            self,
            "Submitter",
            cluster=self.cluster.name,
            queue_arn=self.queue.queue.attr_job_queue_arn,
            bucket=self.bucket,
            passed_roles=[self.job_role, self.execution_role],
        )

    def _contract(self) -> Contract:
        cluster, environment = self.cluster, self.compute_environment
        placement_group = environment.placement_group
        return Contract(
            cluster=cluster.name,
            region=self.region,
            account=self.account,
            availability_zone=cluster.availability_zone,
            max_nodes=cluster.max_nodes,
            max_job_hours=cluster.max_job_hours,
            queue_name=queue_name(cluster.name),
            queue_arn=self.queue.queue.attr_job_queue_arn,
            compute_environment_arn=environment.environment.attr_compute_environment_arn,
            smoke_job_definition_arn=self.smoke.definition.ref,
            job_role_arn=self.job_role.role_arn,
            execution_role_arn=self.execution_role.role_arn,
            instance_role_arn=self.instance_role.role.role_arn,
            bucket=self.bucket.bucket_name,
            results_prefix=RESULTS_PREFIX,
            image=cluster.image,
            vpc_id=self.network.vpc.vpc_id,
            subnet_id=self.network.subnet_id,
            security_group_id=self.security_group.group_id,
            placement_group=placement_group.attr_group_name if placement_group else "",
            launch_template_id=environment.launch_template.ref,
            secret_arn=self.secret.secret_arn,
            log_group=LOG_GROUP,
            scratch=SCRATCH if cluster.scratch else "",
            submitter_policy_arn=self.submitter.policy.managed_policy_arn,
            node=node_shape(catalogue()[cluster.instance_type], cluster.network_interfaces),
        )
