"""Tests of selecting evidence from search results."""

import pytest

from tenure.algorithms.retrieval.evidence_selection import (
    MAX_GRAPH_RANK,
    MIN_SUPPORTING_SHARE,
    is_computed,
    select_evidence,
)
from tests.support.passages import reference

STRONG, WEAK, NOISE = reference(0.5, "a"), reference(0.4 * (1 + MIN_SUPPORTING_SHARE) / 2, "b"), reference(0.01, "c")


def test_weaker_passages_support_a_relevant_one() -> None:
    """With a relevant passage, supporting passages count too, in search order; noise does not."""
    assert select_evidence([NOISE, WEAK, STRONG], 0.4) == (WEAK, STRONG)


def test_weak_passages_alone_are_no_evidence() -> None:
    """Many weakly similar passages are not evidence."""
    assert select_evidence([WEAK, NOISE, WEAK], 0.4) == ()


def test_empty_search_has_no_evidence() -> None:
    """A search without results has no evidence."""
    assert select_evidence([], 0.0) == ()


@pytest.mark.parametrize(
    ("rank", "kept"), [(1, True), (MAX_GRAPH_RANK, True), (MAX_GRAPH_RANK + 1, False), (None, False)]
)
def test_linked_passages_support_a_relevant_one(rank: int | None, kept: bool) -> None:
    """A linked passage counts in addition to a relevant one, whatever its similarity."""
    best = reference(0.6)
    linked = reference(0.0, "b", "1").model_copy(update={"graph_rank": rank})

    assert (linked in select_evidence([best, linked], 0.3)) is kept
    assert select_evidence([linked], 0.3) == ()


@pytest.mark.parametrize("leg", ["dense_rank", "sparse_rank", "graph_rank"])
def test_passage_without_rank_was_computed(leg: str) -> None:
    """A passage with a rank of any retriever was not computed."""
    assert is_computed(NOISE) and not is_computed(NOISE.model_copy(update={leg: 1}))
