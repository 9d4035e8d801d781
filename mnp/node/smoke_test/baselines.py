"""Published bus bandwidth of NCCL's all-reduce on EFA, the yardstick of the verdict.

Only sizes of 1 GiB and more: below, the figures of equal clusters scatter too much to judge by. Where several runs
are published, the lowest with a present software stack stands here.
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30
TOLERANCE = 0.15  # a run this far below a published figure still passes
FAILING = 0.5  # below this part of a published figure the fabric is broken, not slow

_AWSOME = "https://github.com/awslabs/awsome-distributed-ai/blob/main/"
_SKYPILOT = "https://github.com/skypilot-org/skypilot/blob/master/examples/aws_efa/README.md"
_NCCL_TESTS = _AWSOME + "micro-benchmarks/nccl-tests/README.md"
_COMPUTE_TEST = _AWSOME + "architectures/aws-pcs/tests/compute-test.md"
_CRAZYGUITAR = "https://github.com/crazyguitar/aws-gpu-communication-benchmark/blob/main/data/nccl_all_reduce.csv"


@dataclass(frozen=True)
class Baseline:
    """Bus bandwidth in GB/s at a size in bytes between that many nodes of the type; read at the source 2026-11-21."""

    instance_type: str
    nodes: int
    size: int
    bus_bw: float
    source: str


@dataclass(frozen=True)
class Symptom:
    """A range of bus bandwidth in GB/s at 1 GiB and above that points to a cause."""

    low: float
    high: float
    cause: str


BASELINES = (
    *(Baseline("p4d.24xlarge", 2, size * GIB, gbps, _SKYPILOT) for size, gbps in ((1, 75.3), (2, 77.4))),
    *(Baseline("p4de.24xlarge", 2, size * GIB, gbps, _NCCL_TESTS) for size, gbps in ((1, 76.8), (2, 78.3))),
    *(Baseline("p5.48xlarge", 2, size * GIB, gbps, _NCCL_TESTS) for size, gbps in ((2, 444), (16, 487))),
    *(
        Baseline("p5.48xlarge", nodes, size * GIB, gbps, _CRAZYGUITAR)
        for nodes, size, gbps in (
            *((2, 1, 436), (2, 8, 478)),
            *((4, 1, 280), (4, 2, 348), (4, 8, 357)),
            *((8, 1, 274), (8, 2, 279), (8, 8, 354)),
            *((16, 1, 268), (16, 4, 311), (16, 8, 354)),
            *((32, 1, 221), (32, 2, 271), (32, 8, 321)),
        )
    ),
    *(
        Baseline("p6-b200.48xlarge", 4, size * GIB, gbps, _COMPUTE_TEST)
        for size, gbps in ((1, 367), (4, 375), (16, 377))
    ),
    *(Baseline("p6-b300.48xlarge", 2, size * GIB, gbps, _COMPUTE_TEST) for size, gbps in ((16, 654), (64, 751))),
)

# p4d: 8.15 over TCP and 20.2 over one EFA interface of four (SkyPilot's runs, as above).
_P4_SYMPTOMS = (
    Symptom(0, 10, "about the level of TCP: EFA is not in use"),
    Symptom(15, 25, "about the level of one EFA interface of four"),
)
SYMPTOMS: dict[str, tuple[Symptom, ...]] = {
    "p4d.24xlarge": _P4_SYMPTOMS,
    "p4de.24xlarge": _P4_SYMPTOMS,
    # One interface of 32 would carry 436 / 32, about 14 GB/s: by the figure alone the two cannot be told apart.
    "p5.48xlarge": (Symptom(0, 18, "about the level of TCP or of one EFA interface of 32"),),
}


def of_cluster(instance_type: str | None, nodes: int) -> tuple[Baseline, ...]:
    """The figures for that many nodes of the type, by size; empty if none are published."""
    found = (base for base in BASELINES if (base.instance_type, base.nodes) == (instance_type, nodes))
    return tuple(sorted(found, key=lambda base: base.size))


def likely_cause(instance_type: str, bus_bw: float) -> str | None:
    """What a bus bandwidth in GB/s points to, or None if it fits no known class."""
    symptoms = SYMPTOMS.get(instance_type, ())
    return next((symptom.cause for symptom in symptoms if symptom.low <= bus_bw <= symptom.high), None)
