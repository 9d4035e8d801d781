"""Write docs/cluster-file.md from the model and the rules, so that the page cannot lie.

python tools/write_cluster_file_reference.py           # write it
python tools/write_cluster_file_reference.py --check   # exit 1 if it is out of date
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mnp.cluster.ami import Bake
from mnp.cluster.capacity import CapacityBlock, Reservation
from mnp.cluster.instance_types import catalogue
from mnp.cluster.model import Cluster
from mnp.cluster.vpc import ExistingVpc, NewVpc, SharedVpc
from tools.generated_page import write_or_check

TARGET = Path(__file__).parent.parent / "docs" / "cluster-file.md"

HEAD = """\
# The cluster file

One YAML file describes one cluster. `mnp check FILE` checks it offline and names every mistake at once; `cdk synth` and
`cdk deploy -c cluster=FILE` check the same. `mnp schema` prints its JSON Schema for editors. This page is generated.

```yaml
name: p5-training
region: us-east-1
availability_zone: us-east-1d
instance_type: p5.48xlarge
max_nodes: 8
```

That is a complete file: these five keys are required, the others have a default.
"""


def table(model: type[BaseModel]) -> str:
    lines = ["| key | default | meaning |", "| --- | --- | --- |"]
    for name, field in model.model_fields.items():
        meaning = str(field.description).replace("|", "\\|")
        lines.append(f"| `{name}` | {_default(field)} | {meaning} |")
    return "\n".join(lines)


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        value = {key: str(each) if not isinstance(each, bool) else each for key, each in value}
    return "" if value is None else f"`{json.dumps(value, default=str)}`"


def types() -> str:
    lines = [
        "| type | accelerators | EFA | Gbit/s | vCPU | memory GiB | capacity block |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in sorted(catalogue().values(), key=lambda each: (each.family, each.vcpus)):
        accelerators = f"{each.accelerator.count} x {each.accelerator.name}"
        facts = (each.maximum_efa_interfaces, f"{each.network_gbps:g}", each.vcpus, each.memory_mib // 1024)
        block = "yes" if each.capacity_block else ""
        lines.append(f"| {each.name} | {accelerators} | {' | '.join(str(fact) for fact in facts)} | {block} |")
    return "\n".join(lines)


def page() -> str:
    sections = [HEAD, "## Keys\n", table(Cluster)]
    for title, model in (
        ("`vpc`: a new VPC", NewVpc),
        ("`vpc`: a VPC that clusters share", SharedVpc),
        ("`vpc`: an existing VPC", ExistingVpc),
        ("`ami.prebaked`: an image of the cluster's own", Bake),
        ("`capacity`: a reservation", Reservation),
        ("`capacity`: a capacity block", CapacityBlock),
    ):
        sections += [f"\n## {title}\n", f"{inspect.getdoc(model)}\n", table(model)]
    sections += ["\n## Instance types\n", types()]
    return "\n".join(sections) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, page()))
