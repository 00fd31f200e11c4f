"""Test the choice of the number of index partitions that a search reads."""

from collections.abc import Sequence

import numpy as np

from tenure.algorithms.text.passage import Vectors
from tenure.knowledge.store.probes import ALL_PARTITIONS, SAMPLE_ROWS, choose_probes, is_valid, sample_offsets

SAMPLE = [(f"row {n}", np.full(2, n, dtype=np.float32)) for n in range(3)]


def _list_neighbours(vector: Vectors, probes: int) -> list[str]:
    """Return the row itself and its neighbours; of the last ones only as many as a search with few probes finds."""
    own = f"row {int(vector[0])}"
    return [own, *(f"neighbour {n}" for n in range(probes // 4 if 0 < probes < 40 else 12))]


def test_the_smallest_sufficient_number_is_chosen() -> None:
    """Forty probes find all ten neighbours, and twenty half of them."""
    assert choose_probes(SAMPLE, _list_neighbours, _list_neighbours) == 40


def test_all_partitions_are_read_if_no_number_suffices() -> None:
    """All partitions are read if no number of probes finds enough neighbours, or if the table is empty."""

    def miss(vector: Vectors, probes: int) -> Sequence[str]:
        return _list_neighbours(vector, probes)[:9]

    assert choose_probes(SAMPLE, miss, _list_neighbours) == ALL_PARTITIONS
    assert choose_probes([], _list_neighbours, _list_neighbours) == ALL_PARTITIONS


def test_sample_is_reproducible() -> None:
    """The same number of rows gives the same distinct positions."""
    assert sample_offsets(5_000) == sample_offsets(5_000)
    assert len(set(sample_offsets(5_000))) == SAMPLE_ROWS
    assert sample_offsets(3) == [0, 1, 2]


def test_a_number_is_valid_until_the_table_has_grown() -> None:
    """A fifth more or fewer rows do not change the choice."""
    assert is_valid(100, 120)
    assert is_valid(100, 80)
    assert not is_valid(100, 121)
