"""Choose how many partitions of a vector index a search reads, by the recall that it reaches on the table itself.

The neighbours of a sample of stored vectors are searched with ever more partitions, until they are nearly those of a
search in all partitions with more candidates. The number is stored, because it is valid for all processes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from tenure.algorithms.text.passage import Vectors

TARGET_RECALL: Final = 0.995
"""Share of the ten nearest neighbours that a search has to find; questions find a little fewer than stored vectors."""
ALL_PARTITIONS: Final = 0
"""Number of probes that stands for every partition."""
SAMPLE_ROWS: Final = 100
"""Stored vectors whose neighbours are searched."""
_NEIGHBOURS = 10
_CHOICES = (10, 20, 40, 80, 160, 320, 640)
_SEED = 20_000_602
_MAX_GROWTH = 0.2
"""Change in the number of rows after which the recall is measured again."""

Search = Callable[[Vectors, int], Sequence[str]]
"""Search for the nearest rows of a vector with a number of probes; returns ids, nearest first."""


def is_valid(measured_rows: int, rows: int) -> bool:
    """Return whether a number of probes that was measured with some rows is valid for another number of rows."""
    return abs(rows - measured_rows) <= _MAX_GROWTH * measured_rows


def sample_offsets(rows: int) -> list[int]:
    """Return the positions of the sampled rows, the same for the same number of rows."""
    chosen = np.random.default_rng(_SEED).choice(rows, min(rows, SAMPLE_ROWS), replace=False)
    return sorted(chosen.tolist())


def choose_probes(sample: Sequence[tuple[str, Vectors]], search: Search, search_thoroughly: Search) -> int:
    """Return the smallest number of probes that reaches the recall; `ALL_PARTITIONS` if only all of them do.

    Args:
        sample: ids and vectors of stored rows; a row is no neighbour of itself.
        search: search of the product.
        search_thoroughly: search with more candidates, for comparison.
    """
    wanted = [_drop_self(search_thoroughly(vector, ALL_PARTITIONS), id) for id, vector in sample]
    for probes in _CHOICES:
        found = (_drop_self(search(vector, probes), id) for id, vector in sample)
        if _compute_recall(zip(found, wanted, strict=True)) >= TARGET_RECALL:
            return probes
    return ALL_PARTITIONS


def _drop_self(ids: Sequence[str], own: str) -> set[str]:
    return set([id for id in ids if id != own][:_NEIGHBOURS])


def _compute_recall(pairs: Iterator[tuple[set[str], set[str]]]) -> float:
    shares = [len(found & wanted) / len(wanted) for found, wanted in pairs if wanted]
    return sum(shares) / len(shares) if shares else 0.0
