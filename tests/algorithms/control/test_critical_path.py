"""Tests of the critical path through the calls of a run."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.control.usage import (
    CallSpan,
    measure_critical_path,
    select_minimal_spans,
    split_span,
)

SPANS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 5)).map(lambda drawn: (drawn[0], drawn[0] + drawn[1])), max_size=8
)


def measure_by_trial(spans: list[CallSpan]) -> int:
    """Return the size of the largest set of spans without an overlap, by trying all sets."""
    sets = (chosen for size in range(len(spans), 0, -1) for chosen in combinations(sorted(spans), size))
    return next((len(chosen) for chosen in sets if _is_chain(chosen)), 0)


def _is_chain(spans: tuple[CallSpan, ...]) -> bool:
    return all(before[1] <= after[0] for before, after in pairwise(spans))


@given(SPANS)
@settings(deadline=None)
def test_no_other_chain_is_longer(spans: list[CallSpan]) -> None:
    """The path has as many calls as the largest set of calls without an overlap."""
    assert measure_critical_path(spans) == measure_by_trial(spans)


@given(SPANS, SPANS)
@settings(deadline=None)
def test_minimal_spans_have_the_same_path(own: list[CallSpan], others: list[CallSpan]) -> None:
    """The spans that a workflow reports have the path of all its spans, also together with those of others."""
    kept = select_minimal_spans(own)

    assert set(kept) <= set(own)
    assert measure_critical_path([*kept, *others]) == measure_critical_path([*own, *others])
    assert select_minimal_spans((*kept, *others)) == select_minimal_spans([*own, *others])


def test_concurrent_calls_count_once() -> None:
    """Of calls at the same time one is part of the chain; a call may start in the moment in which another ends."""
    assert measure_critical_path([(0, 5), (1, 5), (2, 6), (5, 9), (9, 10)]) == 3
    assert measure_critical_path([]) == 0


def test_repeated_answers_follow_each_other() -> None:
    """A call with three answers is a chain of three; without an answer it is none."""
    assert split_span((10, 40), 3) == ((10, 20), (20, 30), (30, 40))
    assert split_span((7, 7), 2) == ((7, 8), (8, 9))
    assert split_span((0, 9), 0) == ()
