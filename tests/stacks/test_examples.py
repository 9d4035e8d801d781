from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam

import app as cdk_app
from tests.synth import EXAMPLES, ROOT, feature_flags

CFN_LINT = str(Path(sys.executable).with_name("cfn-lint"))


@pytest.fixture(scope="module")
def synthesised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All examples in one assembly, made as the CDK CLI makes it, with every validation on."""
    outdir = tmp_path_factory.mktemp("cdk.out")
    files = ",".join(str(file) for file in EXAMPLES)
    # The CLI adds path metadata, by which cfn-lint tells a CDK template.
    context = feature_flags() | {"cluster": files, "aws:cdk:enable-path-metadata": True}
    app = cdk.App(context=context, outdir=str(outdir))
    cdk_app.build(app)
    app.synth()
    return outdir


def test_cfn_lint_finds_nothing(synthesised: Path) -> None:
    """The templates of every example pass AWS's own linter without a finding, warnings included."""
    templates = [str(file) for file in sorted(synthesised.glob("*.template.json"))]
    assert len(templates) >= len(EXAMPLES)
    result = subprocess.run([CFN_LINT, "--", *templates], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def test_the_validation_report_is_clean_and_lists_what_was_acknowledged(synthesised: Path) -> None:
    """CDK's own validation and cdk-nag find nothing; what we accept stands in the record, with its reason."""
    report: dict[str, Any] = json.loads((synthesised / "validation-report.json").read_text(encoding="utf-8"))
    for plugin in report["pluginReports"]:
        assert plugin["violations"] == [], plugin
    suppressed = [each for plugin in report["pluginReports"] for each in plugin.get("suppressedViolations", [])]
    assert suppressed


def test_an_unacknowledged_finding_stops_the_synth(tmp_path: Path) -> None:
    """The check can fail: a wildcard that nobody acknowledged is an error, beside those that are acknowledged."""
    app = cdk.App(context=feature_flags() | {"cluster": str(ROOT / "examples" / "demo.yaml")}, outdir=str(tmp_path))
    cdk_app.build(app)
    role = iam.Role(app.node.find_child("mnp-demo"), "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))  # type: ignore[arg-type] # a Stack, found by id
    role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::everything/*"]))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text(encoding="utf-8"))
    violations = [each["ruleName"] for plugin in report["pluginReports"] for each in plugin["violations"]]
    assert violations == ["AwsSolutions-IAM5[Resource::arn:aws:s3:::everything/*]"]
