"""Tests of fault localisation and repair candidates."""

import math
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.coding.mutation import generate_edits, normalize_source
from tenure.algorithms.coding.repair import (
    MAX_PAIRED_EDITS,
    LineCoverage,
    compute_ochiai,
    generate_candidates,
)
from tests.support.tiers import slow

SOURCE = "def f(a, b):\n    if a < b:\n        return a\n    return b + 1\n"

coverages = st.lists(
    st.builds(LineCoverage, st.frozensets(st.integers(1, 6), max_size=6), st.booleans()), min_size=0, max_size=8
)


def test_lines_of_failing_tests_are_most_suspicious() -> None:
    """1 for lines of all failing and no passing tests, less for lines of both."""
    suspicion = compute_ochiai([LineCoverage(frozenset({1, 2}), False), LineCoverage(frozenset({1, 3}), True)])

    assert suspicion == {1: 1 / math.sqrt(2), 2: 1.0}


@slow
@given(coverages)
def test_suspicion_is_between_zero_and_one(tests: list[LineCoverage]) -> None:
    """Suspicion is between zero and one."""
    failing = frozenset[int]().union(*(test.lines for test in tests if not test.passed))
    suspicion = compute_ochiai(tests)

    assert suspicion.keys() == failing
    assert all(0 < figure <= 1 + 1e-9 for figure in suspicion.values())


def test_edits_are_ranked_by_suspicion() -> None:
    """Without suspicion the kinds of edits decide."""
    suspected = islice(generate_candidates({"a.py": SOURCE}, {"a.py": {4: 1.0, 2: 0.1}}), 5)

    assert {candidate.edits[0].line for candidate in suspected} == {4}
    assert next(generate_candidates({"a.py": SOURCE}, {})).edits[0].kind in ("comparison", "operator")


def test_edits_of_several_files_are_ranked_together() -> None:
    """Executed lines come first, whatever their file is."""
    sources = {"a.py": SOURCE, "b.py": SOURCE, "c.py": SOURCE}
    found = list(islice(generate_candidates(sources, {"a.py": {4: 0.4}, "b.py": {2: 1.0, 4: 0.3}}), 80))
    executed = [one for one in found if (one.path, one.edits[0].line) in {("a.py", 4), ("b.py", 2), ("b.py", 4)}]

    assert found[: len(executed)] == executed
    assert found[0].path == "b.py" and {one.path for one in executed} == {"a.py", "b.py"}


@slow
def test_single_edits_precede_pairs() -> None:
    """Single edits precede pairs."""
    found = list(generate_candidates({"a.py": SOURCE}, {}))
    sizes = [len(candidate.changes) for candidate in found]

    assert sizes == sorted(sizes) and set(sizes) == {1, 2}
    assert len(found) <= len(generate_edits(SOURCE)) + MAX_PAIRED_EDITS**2
    both = "def f(a, b):\n    if a <= b:\n        return a\n    return b\n"
    assert normalize_source(both) in {normalize_source(candidate.source) for candidate in found}


@slow
def test_candidates_are_distinct() -> None:
    """No candidate is made twice, and none is the program itself."""
    forms = [normalize_source(candidate.source) for candidate in generate_candidates({"a.py": SOURCE}, {})]

    assert len(forms) == len(set(forms))
    assert normalize_source(SOURCE) not in forms


def test_changes_are_described() -> None:
    """Changes are described."""
    said = {
        change for candidate in islice(generate_candidates({"a.py": SOURCE}, {}), 200) for change in candidate.changes
    }

    assert "line 2: `a < b` became `a <= b`" in said
    assert any(change.startswith("line 2: `if not a: return") and change.endswith("was added") for change in said)
