"""The all-reduce benchmark: one worker per rank, started by torchrun (`-m mnp.node.smoke_test.all_reduce`).

Terms, units and default iterations are those of nccl-tests' all_reduce_perf: size in bytes, time in us, algorithm
bandwidth = size / time and bus bandwidth = algbw x 2(n-1)/n in GB/s, in place, sum of float. The time of a size is the
average over the ranks of each rank's time per iteration, nccl-tests' default (`-a 1`). Sources (2026-11-21):
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md and src/common.cu there.

Rank 0 prints a line per size and writes configuration, ranks and results as JSON to --output.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from ..progress import Step, announce
from . import nccl_log

FLOAT_BYTES = 4
# One period of test data. Even elements carry a rank's low digit, odd ones its high digit, to this prime base, so
# that no two of 251 x 251 ranks contribute the same; each value is 1..251, so that a sum over 63,001 ranks stays
# below 2**24 and is exact in float32 in any order.
_BASE = 251
PERIOD = 2 * _BASE
MAX_RANKS = _BASE * _BASE
_ROWS_AT_ONCE = 2**17  # bounds the memory of the comparison


@dataclass(frozen=True)
class Config:
    """The sweep: sizes from min_bytes to max_bytes by step_factor."""

    backend: str
    min_bytes: int
    max_bytes: int
    step_factor: int
    iterations: int
    warmup_iterations: int
    # Sizes above this many bytes take a quarter of the iterations; None: no size does.
    few_iterations_above: int | None

    def sizes(self) -> list[int]:
        """The sizes in bytes, whole floats."""
        sizes, size = [], max(self.min_bytes // FLOAT_BYTES * FLOAT_BYTES, FLOAT_BYTES)
        while size <= self.max_bytes:
            sizes.append(size)
            size *= self.step_factor
        return sizes

    def rounds(self, size: int) -> tuple[int, int]:
        """Warm-up and timed iterations of a size."""
        if self.few_iterations_above is None or size <= self.few_iterations_above:
            return self.warmup_iterations, self.iterations
        return max(1, self.warmup_iterations // 4), max(1, self.iterations // 4)


def contribution(rank: int) -> list[int]:
    """One period of the values that a rank contributes: they differ by rank and by position, and none is zero."""
    digits = (rank % _BASE, rank // _BASE)
    return [1 + (digits[position % 2] + position // 2) % _BASE for position in range(PERIOD)]


def expected_sum(ranks: int) -> list[int]:
    """One period of the sum of all ranks' contributions."""
    if ranks > MAX_RANKS:
        raise ValueError(f"{ranks} ranks; the test data tells {MAX_RANKS} apart")
    total = [0] * PERIOD
    for rank in range(ranks):
        for position, value in enumerate(contribution(rank)):
            total[position] += value
    return total


def fill(buffer: torch.Tensor, period: torch.Tensor) -> None:
    """Repeat the period over the buffer."""
    rows, tail = _in_periods(buffer)
    rows.copy_(period.expand_as(rows))
    tail.copy_(period[: tail.numel()])


def count_wrong(buffer: torch.Tensor, period: torch.Tensor) -> int:
    """How many elements differ from the repeated period; each one is compared, and NaN is wrong."""
    rows, tail = _in_periods(buffer)
    wrong = int((tail != period[: tail.numel()]).sum())
    return wrong + sum(int((part != period).sum()) for part in rows.split(_ROWS_AT_ONCE))


def _in_periods(buffer: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows = buffer.numel() // PERIOD
    return buffer[: rows * PERIOD].view(rows, PERIOD), buffer[rows * PERIOD :]


class Benchmark:
    """One rank's side of the measurement."""

    def __init__(self, config: Config, device: torch.device) -> None:
        self._config = config
        self._device = device
        self.rank = dist.get_rank()
        self.ranks = dist.get_world_size()
        self._own = torch.tensor(contribution(self.rank), dtype=torch.float32, device=device)
        self._sum = torch.tensor(expected_sum(self.ranks), dtype=torch.float32, device=device)

    def run(self) -> list[dict[str, Any]]:
        """One row per size; rank 0 says so as each is done."""
        sizes, rows = self._config.sizes(), []
        memory = torch.empty(max(sizes) // FLOAT_BYTES, dtype=torch.float32, device=self._device)
        for done, size in enumerate(sizes, start=1):
            row = self._measure(memory[: size // FLOAT_BYTES], size)
            rows.append(row)
            if self.rank == 0:
                measured = row["in_place"]
                announce(Step(done, len(sizes), size, measured["time"], measured["bus_bw"]))
        return rows

    def _measure(self, buffer: torch.Tensor, size: int) -> dict[str, Any]:
        warmup, iterations = self._config.rounds(size)
        fill(buffer, self._own)
        for _ in range(warmup):
            dist.all_reduce(buffer)
        microseconds = self._sum_over_ranks(self._time(buffer, iterations)) / self.ranks
        fill(buffer, self._own)
        dist.all_reduce(buffer)
        wrong = int(self._sum_over_ranks(count_wrong(buffer, self._sum)))
        alg_bw = size / microseconds / 1000  # B/us is MB/s
        return {
            "size": size,
            "count": size // FLOAT_BYTES,
            "type": "float",
            "redop": "sum",
            "warmup_iterations": warmup,
            "iterations": iterations,
            "in_place": {
                "time": round(microseconds, 2),
                "alg_bw": round(alg_bw, 6),
                "bus_bw": round(alg_bw * 2 * (self.ranks - 1) / self.ranks, 6),
                "nwrong": wrong,
            },
        }

    def _time(self, buffer: torch.Tensor, iterations: int) -> float:
        """This rank's microseconds per iteration, by CUDA events on a GPU."""
        dist.barrier()
        if self._device.type == "cuda":
            torch.cuda.synchronize()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(iterations):
                dist.all_reduce(buffer)
            end.record()
            end.synchronize()
            return float(start.elapsed_time(end)) * 1000 / iterations
        began = time.perf_counter()
        for _ in range(iterations):
            dist.all_reduce(buffer)
        return (time.perf_counter() - began) * 1e6 / iterations

    def _sum_over_ranks(self, value: float) -> float:
        total = torch.tensor([value], dtype=torch.float64, device=self._device)
        dist.all_reduce(total)
        return float(total.item())


def gather(value: dict[str, Any], device: torch.device) -> list[dict[str, Any]]:
    """Every rank's value, by rank. As JSON: torch's all_gather_object unpickles, and needs NumPy."""
    body = json.dumps(value).encode()
    length = torch.tensor([len(body)], dtype=torch.int64, device=device)
    longest = length.clone()
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    padded = body.ljust(int(longest.item()))
    own = torch.tensor(list(padded), dtype=torch.uint8, device=device)
    gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, own)
    return [json.loads(bytes(part.tolist())) for part in gathered]


def main() -> None:
    """Join the process group, measure, leave."""
    options = _parser().parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    with tempfile.TemporaryDirectory(prefix="nccl-", dir=options.output.parent) as folder:
        log = Path(folder) / "nccl.log"
        keywords: dict[str, Any] = {}
        if cuda:
            torch.cuda.set_device(device)
            keywords["device_id"] = device
            if os.environ.get("NCCL_DEBUG", "").upper() not in ("INFO", "TRACE"):
                os.environ["NCCL_DEBUG"] = "INFO"
            os.environ["NCCL_DEBUG_FILE"] = str(log)
        config = _config(options, cuda=cuda)
        dist.init_process_group(config.backend, timeout=timedelta(seconds=options.timeout), **keywords)
        try:
            benchmark = Benchmark(config, device)
            results = benchmark.run()
            text = log.read_text(errors="replace") if log.exists() else ""
            ranks = gather(_evidence(benchmark.rank, local_rank, text), device)
            if benchmark.rank == 0:
                document = {"config": _describe(config), "versions": _versions(), "ranks": ranks, "results": results}
                options.output.write_text(json.dumps(document))
            dist.barrier()
        finally:
            dist.destroy_process_group()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mnp.node.smoke_test.all_reduce")
    parser.add_argument("--min-bytes", type=int)
    parser.add_argument("--max-bytes", type=int)
    parser.add_argument("--step-factor", type=int, default=2)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--warmup-iterations", type=int)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a collective may take")
    parser.add_argument("--output", type=Path, required=True, help="where rank 0 writes the JSON")
    return parser


def _config(options: argparse.Namespace, *, cuda: bool) -> Config:
    min_bytes, max_bytes = (8, 8 * 2**30) if cuda else (2**10, 16 * 2**20)
    asked = options.iterations is not None
    min_bytes = min_bytes if options.min_bytes is None else options.min_bytes
    return Config(
        backend="nccl" if cuda else "gloo",
        min_bytes=min_bytes,
        max_bytes=max(min_bytes, max_bytes) if options.max_bytes is None else options.max_bytes,
        step_factor=options.step_factor,
        iterations=20 if options.iterations is None else options.iterations,
        warmup_iterations=5 if options.warmup_iterations is None else options.warmup_iterations,
        few_iterations_above=None if cuda or asked else 2**20,
    )


def _describe(config: Config) -> dict[str, Any]:
    fixed = {"collective": "all_reduce", "redop": "sum", "datatype": "float", "average": "mean over ranks"}
    return {**fixed, **asdict(config)}


def _versions() -> dict[str, str]:
    versions = {"torch": str(torch.__version__)}
    if torch.cuda.is_available():
        versions["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
        versions["cuda"] = str(torch.version.cuda)
    return versions


def _evidence(rank: int, local_rank: int, log: str) -> dict[str, Any]:
    """What shows that this rank took part, and over which network."""
    return {
        "rank": rank,
        "node": int(os.environ.get("MNP_NODE_INDEX", os.environ.get("GROUP_RANK", "0"))),
        "local_rank": local_rank,
        "token": secrets.token_hex(8),
        "network": asdict(nccl_log.parse(log)),
    }


if __name__ == "__main__":
    main()
