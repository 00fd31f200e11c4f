"""Tests of topic coverage, c = 1 − Π(1 − w·r)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.research.coverage import (
    MAX_COUNTED_PASSAGES,
    PASSAGE_WEIGHT,
    REPEATED_SOURCE_WEIGHT,
    compute_coverage,
    select_covering_passages,
)
from tenure.contracts.evidence.passages import PassageRef
from tests.support.passages import reference
from tests.support.tiers import slow

RELEVANCES = st.floats(-0.5, 1.0, allow_nan=False)
PASSAGES = st.lists(
    st.builds(reference, RELEVANCES, st.sampled_from("abcdefgh"), st.integers(0, 99).map(str)), max_size=12
)


def test_no_passages_give_zero() -> None:
    """No passages give zero."""
    assert compute_coverage([]) == 0.0


def test_one_passage_covers_its_weighted_relevance() -> None:
    """A single passage covers w·r."""
    assert compute_coverage([reference(0.5)]) == pytest.approx(PASSAGE_WEIGHT * 0.5)


def test_two_sources_multiply_the_uncovered_shares() -> None:
    """Two sources multiply the uncovered shares."""
    expected = 1 - (1 - PASSAGE_WEIGHT * 0.8) * (1 - PASSAGE_WEIGHT * 0.4)

    assert compute_coverage([reference(0.4, "a"), reference(0.8, "b")]) == pytest.approx(expected)


def test_second_passage_of_a_source_counts_half() -> None:
    """The best passage of a source counts fully, its other passages half."""
    expected = 1 - (1 - PASSAGE_WEIGHT * 0.8) * (1 - PASSAGE_WEIGHT * REPEATED_SOURCE_WEIGHT * 0.4)

    assert REPEATED_SOURCE_WEIGHT == 0.5
    assert compute_coverage([reference(0.4, "a"), reference(0.8, "a")]) == pytest.approx(expected)


def test_only_the_best_passages_count() -> None:
    """Passages after the m-th do not count."""
    best = [reference(0.9, name) for name in "abcdef"]
    rest = [reference(0.1, name) for name in "ghij"]

    assert len(best) == MAX_COUNTED_PASSAGES
    assert compute_coverage(best) == compute_coverage([*rest, *best])


def test_selected_passages_are_ordered_by_contribution() -> None:
    """A less relevant passage of a new source precedes the second passage of a source."""
    found = [reference(0.6, "a"), reference(0.5, "b"), reference(0.8, "a"), reference(-0.2, "c")]

    assert [p.chunk for p in select_covering_passages(found, 3)] == ["a:0.8", "b:0.5", "a:0.6"]
    assert select_covering_passages(found, 0) == select_covering_passages([], 3) == ()


@slow
@given(PASSAGES)
@settings(deadline=None)
def test_selected_passages_have_the_same_coverage(passages: list[PassageRef]) -> None:
    """Passages that do not count can be removed."""
    unique = list({passage.chunk: passage for passage in passages}.values())

    assert compute_coverage(select_covering_passages(unique, MAX_COUNTED_PASSAGES)) == pytest.approx(
        compute_coverage(unique)
    )


@given(PASSAGES)
@settings(deadline=None)
def test_coverage_is_below_one(passages: list[PassageRef]) -> None:
    """Coverage is below one."""
    assert 0.0 <= compute_coverage(passages) < 1.0


@given(PASSAGES, st.randoms())
@settings(deadline=None)
def test_order_does_not_matter(passages: list[PassageRef], chance: object) -> None:
    """Order does not matter."""
    unique = list({passage.chunk: passage for passage in passages}.values())

    assert compute_coverage(unique) == compute_coverage(reversed(unique))


@given(PASSAGES, RELEVANCES)
@settings(deadline=None)
def test_new_source_never_lowers_coverage(passages: list[PassageRef], relevance: float) -> None:
    """New source never lowers coverage."""
    assert compute_coverage([*passages, reference(relevance, "new")]) >= compute_coverage(passages) - 1e-9


@given(PASSAGES.map(lambda found: found[: MAX_COUNTED_PASSAGES - 1]), RELEVANCES, st.sampled_from("abcdefgh"))
@settings(deadline=None)
def test_further_passage_never_lowers_coverage(passages: list[PassageRef], relevance: float, source: str) -> None:
    """Further passage never lowers coverage."""
    assert compute_coverage([*passages, reference(relevance, source, "new")]) >= compute_coverage(passages) - 1e-9


def test_known_source_never_lowers_coverage() -> None:
    """Contributions are ranked, not relevances."""
    before = [reference(0.5, name) for name in "abcdef"]

    assert compute_coverage([*before, reference(0.51, "a")]) >= compute_coverage(before)
