"""The real, unmodified CDK CLI against the embedded AWS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.local_aws.support import Aws

ROOT = Path(__file__).parents[2]
CDK = ROOT / "node_modules" / ".bin" / "cdk"
APP = """
import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2, aws_iam as iam, aws_s3 as s3, aws_s3_assets as assets, aws_ssm as ssm

app = cdk.App()
stack = cdk.Stack(app, "TinyApp")
vpc = ec2.Vpc(stack, "Vpc", max_azs=1, nat_gateways=1, restrict_default_security_group=False)
vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
asset = assets.Asset(stack, "Code", path=__file__)
role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
asset.grant_read(role)
bucket = s3.Bucket(stack, "Results", enforce_ssl=True, removal_policy=cdk.RemovalPolicy.DESTROY)
ssm.StringParameter(stack, "Contract", parameter_name="/tiny", string_value=app.node.try_get_context("value") or "none")
cdk.CfnOutput(stack, "Bucket", value=bucket.bucket_name)
cdk.CfnOutput(stack, "Asset", value=asset.s3_object_url)
app.synth()
"""


@pytest.mark.end_to_end
def test_cdk_bootstraps_deploys_updates_and_destroys(aws: Aws, tmp_path: Path) -> None:
    """`cdk bootstrap`, `deploy` with an asset, `deploy` of a change and `destroy` work as on AWS."""
    assert CDK.exists(), f"{CDK} is missing: run `npm ci`"
    (tmp_path / "app.py").write_text(APP)
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "CDK_DISABLE_VERSION_CHECK": "1",
        **aws.server.environment(),
    }

    def cdk(*arguments: str) -> str:
        finished = subprocess.run(
            [str(CDK), "--app", f"{sys.executable} app.py", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    cdk("bootstrap", "aws://123456789012/us-east-1")
    deploy = ("deploy", "--require-approval=never", "--outputs-file=outputs.json")
    for value in ("one", "two"):
        cdk(*deploy, "-c", f"value={value}")
        assert aws.client("ssm").get_parameter(Name="/tiny")["Parameter"]["Value"] == value
    outputs = json.loads((tmp_path / "outputs.json").read_text())["TinyApp"]
    bucket, _, key = outputs["Asset"].removeprefix("s3://").partition("/")
    assert aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode() == APP
    cdk("destroy", "--force", "-c", "value=two")
    assert outputs["Bucket"] not in [entry["Name"] for entry in aws.client("s3").list_buckets()["Buckets"]]
