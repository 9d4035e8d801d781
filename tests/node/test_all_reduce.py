"""The benchmark's test data and sweep; the measurement itself is tested end to end in test_smoke.py."""

from __future__ import annotations

import warnings

import pytest

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")
    import torch

from mnp.node.smoke_test.all_reduce import MAX_RANKS, PERIOD, Config, contribution, count_wrong, expected_sum, fill

COUNTS = (1, 2, PERIOD - 1, PERIOD, 3 * PERIOD + 17)


def _tensor(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def _reduced(ranks: list[int], count: int) -> torch.Tensor:
    """What an all-reduce over these ranks' contributions gives."""
    total = torch.zeros(count)
    for rank in ranks:
        own = torch.empty(count)
        fill(own, _tensor(contribution(rank)))
        total += own
    return total


@pytest.mark.parametrize("count", COUNTS)
def test_a_right_sum_has_no_wrong_element(count: int) -> None:
    """The sum of all ranks' contributions is what is expected, at every length."""
    assert count_wrong(_reduced(list(range(8)), count), _tensor(expected_sum(8))) == 0


@pytest.mark.parametrize("count", COUNTS)
def test_one_tampered_element_is_found(count: int) -> None:
    """A single wrong element counts as one, wherever it is, and NaN is wrong."""
    for position in {0, count // 2, count - 1}:
        for value in (1.0, float("nan")):
            buffer = _reduced(list(range(8)), count)
            buffer[position] += value
            assert count_wrong(buffer, _tensor(expected_sum(8))) == 1


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param([0, 1, 2], id="a rank is missing"),
        pytest.param([0, 1, 2, 3, 3], id="a rank is doubled"),
        pytest.param([0, 1, 2, 2], id="one rank instead of another"),
        pytest.param([0, 1, 2, 3 + 251], id="a rank of the same low digit"),
        pytest.param([0, 1, 2, 251 * 3], id="a rank of the same high digit"),
    ],
)
@pytest.mark.parametrize("count", [2, PERIOD + 1])
def test_wrong_ranks_are_found(ranks: list[int], count: int) -> None:
    """A sum over other ranks than those that should take part has wrong elements."""
    assert count_wrong(_reduced(ranks, count), _tensor(expected_sum(4))) > 0


def test_a_misplaced_block_is_found() -> None:
    """Right values at the wrong place are wrong."""
    buffer = _reduced([0, 1, 2, 3], 4096)
    shuffled = torch.cat([buffer[1024:2048], buffer[:1024], buffer[2048:]])
    assert count_wrong(shuffled, _tensor(expected_sum(4))) > 1000


def test_sums_are_exact_for_the_largest_job() -> None:
    """Even the sum over all ranks that the data tells apart is exact in float32 at any step."""
    assert MAX_RANKS * 251 < 2**24
    with pytest.raises(ValueError, match="tells 63001 apart"):
        expected_sum(MAX_RANKS + 1)


def test_every_rank_contributes_something_of_its_own() -> None:
    """No two ranks contribute the same data and nobody a zero, so that none can be left out unseen."""
    seen = {tuple(contribution(rank)) for rank in range(2000)}
    assert len(seen) == 2000
    assert min(min(values) for values in seen) >= 1


def test_sizes_go_by_the_factor_in_whole_floats() -> None:
    """The sweep starts at the smallest size, multiplies, and stops at the largest."""
    config = Config("gloo", 10, 600, 8, 20, 5, None)
    assert config.sizes() == [8, 64, 512]


def test_large_sizes_take_fewer_iterations_on_a_cpu() -> None:
    """Above the limit a quarter of the iterations must do."""
    config = Config("gloo", 4, 8, 2, 20, 5, 4)
    assert (config.rounds(4), config.rounds(8)) == ((5, 20), (1, 5))
