"""The secret from which every job derives the key of its own rendezvous."""

from __future__ import annotations

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from stacks.acknowledge import acknowledge


class ClusterSecret(Construct):
    def __init__(self, scope: Construct, id_: str, *, cluster: str) -> None:
        super().__init__(scope, id_)
        self.secret = secretsmanager.Secret(
            self,
            "Secret",
            description=f"Nodes of the cluster {cluster} prove to each other that they belong to one job",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=64, exclude_punctuation=True, include_space=False
            ),
        )
        acknowledge(
            self.secret,
            "never used as it is: each job derives a key of its own, good for one attempt; a rotation between the start"
            " of two nodes would part them",
            "AwsSolutions-SMG4",
        )
