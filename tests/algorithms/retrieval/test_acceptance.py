"""Which passages are evidence."""

import pytest

from tenure.algorithms.retrieval.acceptance import BESIDE, LINKED, computed, evidence
from tests.passages import reference

STRONG, WEAK, NOISE = reference(0.5, "a"), reference(0.4 * (1 + BESIDE) / 2, "b"), reference(0.01, "c")


def test_weaker_passages_count_beside_a_strong_one() -> None:
    """Where the corpus has something, what supports it is evidence too, in the order of the search; noise is not."""
    assert evidence([NOISE, WEAK, STRONG], 0.4) == (WEAK, STRONG)


def test_without_a_strong_passage_there_is_no_evidence() -> None:
    """Many passages a little like the question make no evidence together."""
    assert evidence([WEAK, NOISE, WEAK], 0.4) == ()


def test_no_passages_are_no_evidence() -> None:
    """A search that found nothing brings nothing."""
    assert evidence([], 0.0) == ()


@pytest.mark.parametrize(("rank", "kept"), [(1, True), (LINKED, True), (LINKED + 1, False), (None, False)])
def test_links_vouch_for_what_they_lead_to(rank: int | None, kept: bool) -> None:
    """Beside a relevant passage one counts that links lead to, however little it resembles the question."""
    best = reference(0.6)
    linked = reference(0.0, "b", "1").model_copy(update={"graph_rank": rank})

    assert (linked in evidence([best, linked], 0.3)) is kept
    assert evidence([linked], 0.3) == ()


@pytest.mark.parametrize("leg", ["dense_rank", "sparse_rank", "graph_rank"])
def test_what_no_search_has_found_was_computed(leg: str) -> None:
    """A passage with a rank in any leg of a search is none of a computation."""
    assert computed(NOISE) and not computed(NOISE.model_copy(update={leg: 1}))
