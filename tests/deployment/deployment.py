"""A cluster deployed by the real CDK CLI into an AWS on localhost, as a user would deploy it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from mnp.local_aws.server import LocalAws
from tests.synth import ROOT

CDK = str(ROOT / "node_modules" / ".bin" / "cdk")
MNP = str(Path(sys.executable).with_name("mnp"))


def copy_of_example(name: str, folder: Path) -> Path:
    """An example as a file of the test's own, which may be changed."""
    file = folder / name
    file.write_text((ROOT / "examples" / name).read_text())
    return file


@dataclass(frozen=True)
class Deployment:
    """`files` are the cluster files; rewriting one and deploying again is an update."""

    aws: LocalAws
    folder: Path
    files: tuple[Path, ...]

    def environment(self) -> dict[str, str]:
        own_tools_first = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return {"PATH": own_tools_first, "HOME": str(self.folder), **self.aws.environment()}

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            command, cwd=ROOT, env=self.environment(), capture_output=True, text=True, timeout=300, check=False
        )
        assert not check or result.returncode == 0, result.stdout + result.stderr
        return result

    def cdk(self, verb: str, *arguments: str) -> None:
        app = ("--app", f"{sys.executable} app.py", "--output", str(self.folder / "cdk.out"), "--no-notices")
        self.run(CDK, verb, *app, "-c", f"cluster={','.join(str(file) for file in self.files)}", *arguments)

    def deploy(self, *stacks: str) -> None:
        outputs = str(self.folder / "outputs.json")
        self.cdk("deploy", *(stacks or ("--all",)), "--require-approval=never", "--outputs-file", outputs)

    def outputs(self, stack: str) -> dict[str, str]:
        found: dict[str, dict[str, str]] = json.loads((self.folder / "outputs.json").read_text(encoding="utf-8"))
        return found[stack]

    def mnp(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(MNP, *arguments, check=check)

    def contract(self, cluster: str = "demo", region: str = "us-east-1") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.mnp("outputs", "--cluster", cluster, "--region", region).stdout)
        return found

    def client(self, service: str, region: str = "us-east-1") -> Any:
        variables = self.aws.environment()
        return boto3.client(
            service,  # type: ignore[call-overload] # any service
            endpoint_url=self.aws.endpoint_url,
            region_name=region,
            aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        )

    @staticmethod
    def change(file: Path, **keys: object) -> None:
        """Set these keys in a cluster file."""
        kept = [line for line in file.read_text().splitlines() if line.partition(":")[0] not in keys]
        file.write_text("\n".join([*kept, *(f"{key}: {value}" for key, value in keys.items())]) + "\n")
