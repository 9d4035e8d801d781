"""The CDK app: cdk deploy -c cluster=examples/p5.yaml (several files, with commas between, make several clusters)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mnp.cluster.cluster_file import ClusterFile, load
from mnp.cluster.problems import ClusterFileError, Problem, shown

# jsii takes `node` from PATH, which may hold none or one past its support; the wheel beside Python is right.
_NODE = Path(sys.executable).with_name("node")
if _NODE.exists():
    os.environ.setdefault("JSII_NODE", str(_NODE))

import aws_cdk as cdk  # noqa: E402 -- after JSII_NODE
from cdk_nag import AwsSolutionsChecks  # noqa: E402

from stacks.clusters import add_cluster  # noqa: E402

DEFAULT_FILE = "cluster.yaml"


def build(app: cdk.App) -> None:
    """Add the clusters of the files that the context names, and the rules that every synth must pass.

    Raises:
        ClusterFileError: a file is wrong; nothing is written then.
    """
    names = str(app.node.try_get_context("cluster") or DEFAULT_FILE)
    files = [load(name.strip()) for name in names.split(",")]
    _refuse_equal_names(files)
    for file in files:
        stack = add_cluster(app, file.cluster, account=os.environ.get("CDK_DEFAULT_ACCOUNT"))
        for warning in file.warnings:
            cdk.Annotations.of(stack).add_warning_v2(f"mnp:{warning.key}", warning.render(file.path))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def _refuse_equal_names(files: list[ClusterFile]) -> None:
    first: dict[str, ClusterFile] = {}
    for file in files:
        other = first.setdefault(file.cluster.name, file)
        if other is not file:
            reason = f"{other.path} has the same name, and both would make the same stacks"
            problem = Problem(key="name", message="taken", got=shown(file.cluster.name), reason=reason)
            raise ClusterFileError(file.path, [problem])


def run(app: cdk.App) -> int:
    """Synthesise; 2 if a cluster file is wrong, which is then the only thing said."""
    try:
        build(app)
    except ClusterFileError as error:
        print(error, file=sys.stderr)  # noqa: T201 -- the CDK CLI shows it as it is
        return 2
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(run(cdk.App()))
