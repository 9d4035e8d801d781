"""The CDK app: cdk deploy -c cluster=examples/p5.yaml (several files, with commas between, make several clusters)."""

from __future__ import annotations

import os
import sys

from mnp.cluster.cluster_file import load
from mnp.cluster.problems import ClusterFileError
from mnp.cluster.together import refuse_conflicts
from stacks.jsii_node import use_pinned_node

use_pinned_node()

import aws_cdk as cdk  # noqa: E402 -- after Node was chosen
from cdk_nag import AwsSolutionsChecks  # noqa: E402

from stacks.clusters import add_clusters  # noqa: E402

DEFAULT_FILE = "cluster.yaml"


def build(app: cdk.App) -> None:
    """Add the clusters of the files that the context names, and the rules that every synth must pass.

    Raises:
        ClusterFileError: a file is wrong; nothing is written then.
    """
    names = str(app.node.try_get_context("cluster") or DEFAULT_FILE)
    files = [load(name.strip()) for name in names.split(",")]
    refuse_conflicts(files)
    stacks = add_clusters(app, [file.cluster for file in files], account=os.environ.get("CDK_DEFAULT_ACCOUNT"))
    for file, stack in zip(files, stacks, strict=True):
        for warning in file.warnings:
            cdk.Annotations.of(stack).add_warning_v2(f"mnp:{warning.key}", warning.render(file.path))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))


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
