"""The second stage's formula."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.reranking import authority, final_order, listed, opinion, recency
from tenure.algorithms.text.passage import Vectors

TODAY = date(2024, 7, 1)
SCORES = st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=8)
ALIKE: Vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)


def test_opinions_are_blended_by_their_weights() -> None:
    """By hand: 0.5 of (1, 0.5, 0), 0.3 of (0, 1, 0.5) and 0.2 of (0, 0, 1)."""
    blended = opinion([3, 2, 1], [(0.3, [0, 20, 10]), (0.2, [-1, -1, 4])])

    assert blended == pytest.approx([0.5, 0.55, 0.35])


def test_without_another_opinion_the_first_stage_counts() -> None:
    """The best has 1, the worst 0, and equals have 1."""
    assert opinion([0.2, 0.8, 0.5], []) == pytest.approx([0, 1, 0.5])
    assert opinion([4, 4], [(0.5, [7, 7])]) == pytest.approx([1, 1])
    assert opinion([], []) == []


@pytest.mark.parametrize("weights", [(0.6, 0.6), (-0.1, 0.5)])
def test_weights_that_do_not_add_up_are_refused(weights: tuple[float, float]) -> None:
    """No opinion counts against its own scores."""
    with pytest.raises(ValueError, match="weights must be in"):
        opinion([1, 2], [(weight, [1, 2]) for weight in weights])


@given(SCORES, st.floats(0, 1))
def test_opinions_stay_in_their_range(first: list[float], weight: float) -> None:
    """Whatever the scales of the scores are, the blend is between 0 and 1."""
    other = [score * 100 - 7 for score in reversed(first)]

    assert all(-1e-9 <= value <= 1 + 1e-9 for value in opinion(first, [(weight, other)]))


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
def test_newness_is_lost_by_half_lives(published: str, expected: float) -> None:
    """By hand, with a weight of 0.4 and a half-life of ten days; undated documents neither gain nor lose."""
    assert recency(published, TODAY, 10, 0.4) == pytest.approx(expected)


@given(st.dates(date(1900, 1, 1), TODAY), st.dates(date(1900, 1, 1), TODAY), st.floats(1, 1e4), st.floats(0, 0.99))
def test_the_newer_of_two_never_counts_less(one: date, other: date, half_life: float, weight: float) -> None:
    """The factor falls with age, and stays within its weight of 1."""
    older, newer = (recency(day.isoformat(), TODAY, half_life, weight) for day in sorted((one, other)))

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
def test_the_narrowest_kind_decides_what_a_source_counts(uri: str, kind: str, expected: float) -> None:
    """A path comes before a host, a host before a suffix, a suffix before prose or code; the rest has 1."""
    assert authority(uri, kind, WEIGHTS) == expected
    assert authority(uri, kind, {}) == 1.0


def test_the_order_is_that_of_the_scores() -> None:
    """Equals keep their order."""
    assert final_order([0.5, 0.9, 0.5], ALIKE, 0.0) == [1, 0, 2]


def test_diversity_puts_the_unlike_before_the_repeated() -> None:
    """By hand: the second repeats the first, 0.5 * 0.9 - 0.5, and the third does not, 0.5 * 0.6."""
    assert final_order([1.0, 0.9, 0.6], ALIKE, 0.5) == [0, 2, 1]


@given(SCORES, st.floats(0, 0.99))
def test_every_candidate_keeps_a_place(scores: list[float], diversity: float) -> None:
    """Nothing is lost, not even what repeats another to the letter, and the best stays the first."""
    order = final_order(scores, np.ones((len(scores), 1), dtype=np.float32), diversity)

    assert sorted(order) == list(range(len(scores)))
    assert np.float32(scores[order[0]]) == np.float32(max(scores))


def test_a_list_of_numbers_becomes_an_order() -> None:
    """What is named comes first and once, numbers of nothing are passed over, and the rest keeps its order behind."""
    assert listed(4, [3, 3, 9, 0, -1, 1]) == [2, 0, 1, 3]
    assert listed(0, [1]) == []
