"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# What `cdk deploy` takes without -c cluster=FILE, too.
DEFAULT_FILE = Path("cluster.yaml")

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        envvar="MNP_CLUSTER",
        metavar="NAME",
        help="Which cluster; may be left out where the region has one only.",
    ),
]

Region = Annotated[
    str | None,
    typer.Option(
        "--region",
        envvar=["AWS_REGION", "AWS_DEFAULT_REGION"],
        metavar="REGION",
        help="AWS region of the cluster; default: that of your AWS profile.",
    ),
]
