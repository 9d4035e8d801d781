"""`mnp schema`: the JSON Schema of the cluster file."""

from __future__ import annotations

import json

import typer

from mnp.cluster.model import Cluster
from mnp.commands.console import emit

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def schema() -> None:
    """Print the JSON Schema of the cluster file, for editors.

    In the first line of a cluster file: # yaml-language-server: $schema=cluster.schema.json
    """
    emit(json.dumps(Cluster.model_json_schema(), indent=2))
