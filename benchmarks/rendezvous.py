"""How long the rendezvous takes, beside the same exchange over torch's TCPStore, in the same run.

    python benchmarks/rendezvous.py [RUNS] [NODES ...]        needs root, for a network namespace of its own

Every node is a forked process that has torch and mnp loaded and waits at a gate, and comes once the main node's port is
open. Two cases: the last node comes when all others are there and wait, or all come at once. The time counts from then
until the last node has every card. Over TCPStore each node sets its card, counts itself, waits for the last one and
gets all cards as bytes; over the rendezvous they are authenticated and read. All nodes share this machine's cores, so
where all come at once most of the time is each node's own work, which on a cluster every node does for itself.

Prints the median of each, their ratio, the growth from size to size, and what it takes of the main node's memory.
"""

from __future__ import annotations

import asyncio
import gc
import json
import mmap
import os
import signal
import statistics
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

os.environ["PYTHONWARNINGS"] = "ignore"  # torch warns where NumPy is not installed

from torch.distributed import TCPStore

from mnp.node.card import Card
from mnp.node.identity import Identity
from mnp.node.rendezvous import join as rendezvous
from mnp.node.rendezvous import wire
from tests.hosts.lab import Lab, why_not

ROOT = Path(__file__).parent.parent
SIZES = (8, 64, 256, 1000)
PORT = 18520
LIMIT_SECONDS = 120
_INSIDE = "--inside"
_TIME = struct.Struct("d")
_QUIET = 5  # looks in a row at which every process sleeps
_LISTENS = "0A"  # the state of a listening socket in /proc/net/tcp

Exchange = Callable[[int, int, str, Callable[[], None]], int]  # index, count, main address, gate; returns cards got


def card_document(index: int) -> dict[str, object]:
    """The card of a p5.48xlarge."""
    return {
        "index": index,
        "address": f"10.0.{index // 256}.{index % 256}",
        "hostname": f"ip-10-0-{index // 256}-{index % 256}.ec2.internal",
        "gpus": ["NVIDIA H100 80GB HBM3"] * 8,
        "efa_devices": [f"rdmap{number}s0" for number in range(79, 111)],
        "neuron_devices": [],
        "instance_type": "p5.48xlarge",
        "versions": {
            "python": "3.12.3",
            "kernel": "6.1.141-155.222.amzn2023",
            "driver": "570.172.08",
            "torch": "2.8.0",
        },
    }


def over_rendezvous(index: int, count: int, main: str, gate: Callable[[], None]) -> int:
    """The exchange by mnp. The node's program is up, in its event loop, before the gate opens."""

    async def run() -> int:
        card = Card.from_document(card_document(index))
        identity = Identity("job", 1, index, 0, count, main, main, PORT)
        key = wire.derive_key("secret", "job", 1)
        gate()
        assembly = await rendezvous.assemble(identity, card, key, LIMIT_SECONDS)
        return len(assembly.roster.cards)

    # Not asyncio.run: the connections stay open until the last node is done.
    return asyncio.new_event_loop().run_until_complete(run())


def over_tcp_store(index: int, count: int, main: str, gate: Callable[[], None]) -> int:
    """The exchange by torch's TCPStore, in its fastest form: a counter, and one key that the last node sets."""
    card = json.dumps(card_document(index))
    gate()
    store = TCPStore(main, PORT, is_master=index == 0, wait_for_workers=False)
    store.set(f"card/{index}", card)
    if store.add("arrived", 1) == count:
        store.set("all", "here")
    store.wait(["all"])
    cards = store.multi_get([f"card/{number}" for number in range(count)])
    _KEPT.append(store)
    return len(cards)


_KEPT: list[object] = []  # the main node's store has to live until the last node is done
EXCHANGES: dict[str, Exchange] = {"rendezvous": over_rendezvous, "TCPStore": over_tcp_store}


@dataclass(frozen=True)
class Round:
    """One exchange: how long it took, and by how much the main node's memory grew at its peak."""

    seconds: float
    main_mib: float


class Nodes:
    """Forked nodes at a gate."""

    def __init__(self, exchange: Exchange, count: int, main: str) -> None:
        self._exchange, self._count, self._main = exchange, count, main
        self._ready, self._done, self._end = os.pipe(), os.pipe(), os.pipe()
        self._main_gate, self._gate, self._last_gate = os.pipe(), os.pipe(), os.pipe()
        self._times = mmap.mmap(-1, count * _TIME.size)
        self._pids: list[int] = []

    def run(self, *, at_once: bool) -> Round:
        """Fork them, open the gates, wait for the last."""
        try:
            self._pids.extend(self._fork(index) for index in range(self._count))
            self._await(self._ready)
            before = _memory_mib(self._pids[0], "VmRSS")
            os.close(self._main_gate[1])
            _await_port()
            start = time.monotonic()
            os.close(self._gate[1])
            if not at_once:
                self._await_rest()
                start = time.monotonic()
            os.close(self._last_gate[1])
            self._await(self._done)
            last = max(_TIME.unpack_from(self._times, index * _TIME.size)[0] for index in range(self._count))
            return Round(last - start, _memory_mib(self._pids[0], "VmHWM") - before)
        finally:
            self._stop()

    def _stop(self) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
        for pid in self._pids:
            os.waitpid(pid, 0)
        for pipe in (self._ready, self._done, self._end):
            os.close(pipe[1])
        for pipe in (self._ready, self._done, self._end, self._main_gate, self._gate, self._last_gate):
            os.close(pipe[0])

    def _fork(self, index: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            gates = (self._main_gate, self._gate, self._last_gate)
            for pipe in (*gates, self._end):
                os.close(pipe[1])
            own = gates[0 if index == 0 else 2 if index == self._count - 1 else 1]

            def gate() -> None:
                os.write(self._ready[1], b".")
                os.read(own[0], 1)

            got = self._exchange(index, self._count, self._main, gate)
            _TIME.pack_into(self._times, index * _TIME.size, time.monotonic())
            if got == self._count:
                os.write(self._done[1], b".")
            os.read(self._end[0], 1)
        except Exception:  # noqa: BLE001 - a forked child says what happened and ends here
            traceback.print_exc()
        finally:
            os._exit(1)

    def _await(self, pipe: tuple[int, int]) -> None:
        signal.alarm(LIMIT_SECONDS)  # ends the benchmark
        missing = self._count
        while missing:
            missing -= len(os.read(pipe[0], missing))
        signal.alarm(0)

    def _await_rest(self) -> None:
        """Wait until no node has anything to do."""
        quiet = 0
        while quiet < _QUIET:
            time.sleep(0.02)
            states = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in self._pids)
            quiet = quiet + 1 if all(state == "S" for state in states) else 0


def _await_port() -> None:
    wanted = f":{PORT:04X}"
    while True:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
            if any(row[1].endswith(wanted) and row[3] == _LISTENS for row in rows):
                return
        time.sleep(0.001)


def _memory_mib(pid: int, what: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) / 1024


def inside(main: str, runs: int, sizes: list[int]) -> None:
    """Compare, in a network namespace where the main node's address is this one."""
    gc.freeze()
    for at_once in (False, True):
        print("all nodes come at once" if at_once else "the last node comes when all others wait")
        compare(main, runs, sizes, at_once=at_once)


def compare(main: str, runs: int, sizes: list[int], *, at_once: bool) -> None:
    """Measure and print all sizes in one of the two cases."""
    medians: dict[tuple[str, int], float] = {}
    for count in sizes:
        rounds: dict[str, list[Round]] = {name: [] for name in EXCHANGES}
        # In turn, so that a change of the machine's speed meets both alike; the first round warms the caches.
        for number in range(runs + 1):
            for name, exchange in EXCHANGES.items():
                measured = Nodes(exchange, count, main).run(at_once=at_once)
                if number:
                    rounds[name].append(measured)
        for name, figures in rounds.items():
            times = [each.seconds for each in figures]
            medians[name, count] = statistics.median(times)
            print(
                f"{count:6} nodes  {name:<10}  median {medians[name, count]:7.3f} s"
                f"  min {min(times):7.3f}  max {max(times):7.3f}"
                f"  main node's memory +{max(each.main_mib for each in figures):.1f} MiB"
            )
        ratio = medians["rendezvous", count] / medians["TCPStore", count]
        print(f"{count:6} nodes  ratio x{ratio:.2f}", flush=True)
    for name in EXCHANGES:
        for fewer, more in pairwise(sizes):
            growth = medians[name, more] / medians[name, fewer]
            print(f"  {name:<10}  {fewer} to {more} nodes: x{growth:.1f} for x{more / fewer:.1f} nodes")


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == [_INSIDE]:
        address, runs, *sizes = arguments[1:]
        inside(address, int(runs), [int(size) for size in sizes])
        return
    reason = why_not()
    if reason:
        sys.exit(reason)
    runs, sizes = arguments[0] if arguments else "5", arguments[1:] or [str(size) for size in SIZES]
    with Lab(1) as lab:
        command = [sys.executable, __file__, _INSIDE, lab[0].address, runs, *sizes]
        subprocess.run(lab[0].command(*command), check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
