"""One Ray actor on each node, which sums what all of them hold: every value crosses the network."""

import sys

import ray
from seen import value, write


@ray.remote(num_cpus=1)
class Rank:
    """One rank, on the node that it is tied to."""

    def __init__(self, rank: int, world_size: int) -> None:
        self._rank, self._world_size = rank, world_size

    def numbers(self) -> list[float]:
        """Its value, many times: enough to go through the object store."""
        return [value(self._rank)] * 100_000

    def write_sum(self, folder: str, *numbers: list[float]) -> None:
        """Leave what it saw."""
        write(self._rank, self._world_size, sum(each[-1] for each in numbers), folder)


ray.init()
nodes = [node for node in ray.nodes() if node["Alive"]]
ranks = []
for index, node in enumerate(nodes):
    tied = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    ranks.append(Rank.options(scheduling_strategy=tied).remote(index, len(nodes)))
held = [rank.numbers.remote() for rank in ranks]
ray.get([rank.write_sum.remote(sys.argv[-1], *held) for rank in ranks])
