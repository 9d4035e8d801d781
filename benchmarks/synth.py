"""How long `python app.py` takes, beside an empty Python CDK app with one resource, in the same run.

    python benchmarks/synth.py [RUNS]

Prints the median of each, their ratio, and what every further cluster in the same app adds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stacks.jsii_node import pinned_node

ROOT = Path(__file__).parent.parent
EMPTY_APP = """
import aws_cdk as cdk
from aws_cdk import aws_s3 as s3

app = cdk.App()
s3.CfnBucket(cdk.Stack(app, "Empty"), "Bucket")
app.synth()
"""
CLUSTERS = 8


def seconds(command: list[str], context: dict[str, object]) -> float:
    """Wall-clock time of one synth in a fresh process, with the feature flags of cdk.json."""
    with tempfile.TemporaryDirectory() as outdir:
        environment = os.environ | {
            "CDK_OUTDIR": outdir,
            "CDK_CONTEXT_JSON": json.dumps(context),
            "JSII_NODE": pinned_node(),
        }
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
        return time.perf_counter() - start


def cluster_files(folder: Path, number: int) -> str:
    """Paths of that many cluster files, with commas between, each another name for the p5 example."""
    example = (ROOT / "examples" / "p5.yaml").read_text(encoding="utf-8")
    files = [folder / f"cluster-{index}.yaml" for index in range(number)]
    for index, file in enumerate(files):
        file.write_text(example.replace("p5-training", f"p5-training-{index}"), encoding="utf-8")
    return ",".join(str(file) for file in files)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    flags = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder, "empty.py")
        empty.write_text(EMPTY_APP, encoding="utf-8")
        candidates = {
            "empty app": ([sys.executable, str(empty)], flags),
            "one cluster": ([sys.executable, "app.py"], flags | {"cluster": cluster_files(Path(folder), 1)}),
            f"{CLUSTERS} clusters": (
                [sys.executable, "app.py"],
                flags | {"cluster": cluster_files(Path(folder), CLUSTERS)},
            ),
        }
        times: dict[str, list[float]] = {name: [] for name in candidates}
        # In turn, so that a change of the machine's speed meets all alike; the first round warms the caches.
        for round_ in range(runs + 1):
            for name, (command, context) in candidates.items():
                taken = seconds(command, context)
                if round_:
                    times[name].append(taken)
    medians = {name: statistics.median(figures) for name, figures in times.items()}
    for name, figures in times.items():
        ratio = medians[name] / medians["empty app"]
        spread = f"min {min(figures):6.2f}  max {max(figures):6.2f}"
        print(f"{name:<12} median {medians[name]:6.2f} s  {spread}  x{ratio:.2f}")
    further = (medians[f"{CLUSTERS} clusters"] - medians["one cluster"]) / (CLUSTERS - 1)
    print(f"each further cluster adds {further:.2f} s, x{further / medians['empty app']:.2f} of the empty app")


if __name__ == "__main__":
    main()
