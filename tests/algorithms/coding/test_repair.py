"""Repair: where it is suspected, what is tried first, and that nothing is tried twice."""

import math
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.coding.mutation import normalize_source
from tenure.algorithms.coding.repair import (
    MAX_PAIRED_EDITS,
    LineCoverage,
    compute_ochiai,
    generate_candidates,
    rank_edits,
)

SOURCE = "def f(a, b):\n    if a < b:\n        return a\n    return b + 1\n"

coverages = st.lists(
    st.builds(LineCoverage, st.frozensets(st.integers(1, 6), max_size=6), st.booleans()), min_size=0, max_size=8
)


def test_a_line_that_only_failing_tests_run_is_most_suspicious() -> None:
    """Ochiai: one for what all failing and no passing tests run, less for what both run."""
    suspicion = compute_ochiai([LineCoverage(frozenset({1, 2}), False), LineCoverage(frozenset({1, 3}), True)])

    assert suspicion == {1: 1 / math.sqrt(2), 2: 1.0}


@given(coverages)
def test_suspicion_is_a_share_of_lines_that_failing_tests_ran(tests: list[LineCoverage]) -> None:
    """Every figure lies above nothing and up to one, and no other line has one."""
    failing = frozenset[int]().union(*(test.lines for test in tests if not test.passed))
    suspicion = compute_ochiai(tests)

    assert suspicion.keys() == failing
    assert all(0 < figure <= 1 + 1e-9 for figure in suspicion.values())


def test_edits_of_suspicious_lines_come_first() -> None:
    """With a suspicion the first edits are on its line; without one the likeliest kinds come first."""
    assert {edit.line for edit in rank_edits(SOURCE, {4: 1.0, 2: 0.1})[:5]} == {4}
    assert rank_edits(SOURCE, {})[0].kind in ("comparison", "operator")


def test_one_mistake_is_mended_before_two() -> None:
    """Every program one edit away comes before the programs two edits away."""
    found = list(generate_candidates(SOURCE, {}))
    sizes = [len(candidate.changes) for candidate in found]

    assert sizes == sorted(sizes) and set(sizes) == {1, 2}
    assert len(found) <= len(rank_edits(SOURCE, {})) + MAX_PAIRED_EDITS**2
    both = "def f(a, b):\n    if a <= b:\n        return a\n    return b\n"
    assert normalize_source(both) in {normalize_source(candidate.source) for candidate in found}


def test_no_program_is_offered_twice_or_after_it_has_failed() -> None:
    """Neither the original, nor one that was tried, nor one that another edit gives as well."""
    first = next(generate_candidates(SOURCE, {}))
    forms = [
        normalize_source(candidate.source)
        for candidate in generate_candidates(SOURCE, {}, {normalize_source(first.source)})
    ]

    assert len(forms) == len(set(forms))
    assert not {normalize_source(SOURCE), normalize_source(first.source)} & set(forms)


def test_changes_are_told_in_words() -> None:
    """A replaced piece is named with what it became, an added one with its line."""
    said = {change for candidate in islice(generate_candidates(SOURCE, {}), 200) for change in candidate.changes}

    assert "line 2: `a < b` became `a <= b`" in said
    assert any(change.startswith("line 2: `if not a: return") and change.endswith("was added") for change in said)
