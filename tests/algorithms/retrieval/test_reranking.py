"""Tests of the reranking formula."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.reranking import (
    blend_reranker_scores,
    compute_authority_factor,
    compute_recency_factor,
    order_candidates,
)
from tenure.algorithms.text.passage import Vectors

TODAY = date(2024, 7, 1)
SCORES = st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=8)
ALIKE: Vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)


def test_scores_are_blended_by_weight() -> None:
    """By hand: 0.7 of (1, 0.5, 0) and 0.3 of (0, 1, 0.5)."""
    assert blend_reranker_scores([3, 2, 1], [0, 20, 10], 0.3) == pytest.approx([0.7, 0.65, 0.15])


def test_first_stage_counts_alone() -> None:
    """The best has 1, the worst 0, and equal candidates have 1."""
    assert blend_reranker_scores([0.2, 0.8, 0.5], [], 0.0) == pytest.approx([0, 1, 0.5])
    assert blend_reranker_scores([4, 4], [7, 7], 0.5) == pytest.approx([1, 1])
    assert blend_reranker_scores([], [], 0.0) == []


@given(SCORES, st.floats(0, 1))
def test_blended_scores_are_in_range(first: list[float], weight: float) -> None:
    """For any score scales the blend is between 0 and 1."""
    other = [score * 100 - 7 for score in reversed(first)]

    assert all(-1e-9 <= value <= 1 + 1e-9 for value in blend_reranker_scores(first, other, weight))


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        ("2024-07-01", 1.4),  # today
        ("2024-06-21", 1.0),  # one half-life ago
        ("2024-06-11", 0.8),  # two
        ("1924", 0.6),  # long ago
        ("2030-01-01", 1.4),  # not yet
        ("", 1.0),
        ("some day in spring", 1.0),
    ],
)
def test_recency_follows_the_half_life(published: str, expected: float) -> None:
    """By hand, with a weight of 0.4 and a half-life of ten days; undated documents have a factor of 1."""
    assert compute_recency_factor(published, TODAY, 10, 0.4) == pytest.approx(expected)


@given(st.dates(date(1900, 1, 1), TODAY), st.dates(date(1900, 1, 1), TODAY), st.floats(1, 1e4), st.floats(0, 0.99))
def test_recency_never_grows_with_age(one: date, other: date, half_life: float, weight: float) -> None:
    """The factor falls with age and stays within 1 ± weight."""
    older, newer = (compute_recency_factor(day.isoformat(), TODAY, half_life, weight) for day in sorted((one, other)))

    assert 1 - weight - 1e-9 <= older <= newer <= 1 + weight + 1e-9


WEIGHTS = {
    "docs.python.org": 2.0,
    "https://docs.python.org/2": 0.3,
    "python.org": 1.5,
    "/data/drafts/": 0.5,
    "/data/": 1.2,
    ".pdf": 1.1,
    "code": 0.7,
}


@pytest.mark.parametrize(
    ("uri", "kind", "expected"),
    [
        ("https://docs.python.org/2/library", "prose", 0.3),
        ("https://docs.python.org/3/library.pdf", "prose", 2.0),
        ("https://reader:pass@WWW.python.org:8080?psf", "prose", 1.5),
        ("https://notpython.org/", "prose", 1.0),
        ("/data/drafts/a.pdf", "prose", 0.5),
        ("/data/a.pdf", "prose", 1.2),
        ("/elsewhere/A.PDF", "prose", 1.1),
        ("/elsewhere/a.py", "code", 0.7),
        ("/elsewhere/a.md", "prose", 1.0),
    ],
)
def test_most_specific_authority_rule_wins(uri: str, kind: str, expected: float) -> None:
    """A path precedes a host, a host a suffix, a suffix the kind; other sources have 1."""
    assert compute_authority_factor(uri, kind, WEIGHTS) == expected
    assert compute_authority_factor(uri, kind, {}) == 1.0


def test_candidates_are_ordered_by_score() -> None:
    """Equal candidates keep their order."""
    assert order_candidates([0.5, 0.9, 0.5], ALIKE, 0.0) == [1, 0, 2]


def test_diversity_prefers_dissimilar_candidates() -> None:
    """By hand: the second repeats the first, 0.5 * 0.9 - 0.5, and the third does not, 0.5 * 0.6."""
    assert order_candidates([1.0, 0.9, 0.6], ALIKE, 0.5) == [0, 2, 1]


@given(SCORES, st.floats(0, 0.99))
def test_ordering_keeps_all_candidates(scores: list[float], diversity: float) -> None:
    """No candidate is lost, not even an exact duplicate, and the best stays first."""
    order = order_candidates(scores, np.ones((len(scores), 1), dtype=np.float32), diversity)

    assert sorted(order) == list(range(len(scores)))
    assert np.float32(scores[order[0]]) == np.float32(max(scores))
