"""How much work a question is worth, and how a task searches."""

import pytest

from tenure.algorithms.effort import EFFORTS, converged, effort, strategy
from tenure.contracts.run import Complexity, Limits
from tenure.contracts.spiral import Effort, Step, Strategy
from tests.passages import reference


@pytest.mark.parametrize(("complexity", "sections"), [("simple", 2), ("moderate", 4), ("complex", 6)])
def test_complexity_sets_the_effort(complexity: Complexity, sections: int) -> None:
    """Without a word from a person the table decides, within the sections a report may have."""
    assert effort(complexity, Limits()) == EFFORTS[complexity].model_copy(update={"sections": sections})


def test_a_person_overrides_what_the_complexity_suggests() -> None:
    """Limits of the run come before the router's view, one by one."""
    limits = Limits(effort="simple", max_cycles=9, subagents=7, max_sections=1)

    assert effort("complex", limits) == Effort(cycles=9, subagents=7, hops=1, sections=1)


def test_more_complex_questions_get_more() -> None:
    """No part of the effort shrinks as questions grow."""
    simple, moderate, complex_ = (list(EFFORTS[c].model_dump().values()) for c in ("simple", "moderate", "complex"))

    assert all(a < b < c for a, b, c in zip(simple, moderate, complex_, strict=True))


@pytest.mark.parametrize(
    ("query", "hops", "expected"),
    [
        ("What is sourdough?", 3, "direct"),
        ("How do I bake bread?", 3, "direct"),
        ("Why does dough rise?", 1, "direct"),
        ("Why does dough rise?", 3, "multi_hop"),
        ("What is the town in which the founder of the oldest bakery of Vienna was born?", 3, "multi_hop"),
    ],
)
def test_plain_questions_are_searched_for_once(query: str, hops: int, expected: Strategy) -> None:
    """A short question for a fact or a procedure needs one search, and so does every one without hops."""
    assert strategy(Step(id="s1", query=query, topic="Bread"), hops) == expected


def test_reading_on_in_a_source_is_one_search() -> None:
    """What a passage's source says further needs no bridge."""
    step = Step(id="s1", query="Why does dough rise in the cold?", topic="Bread", reads=reference(0.5))

    assert strategy(step, 3) == "direct"


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("", "abc", False),
        ("abcde", "edcba", True),
        ("abcde", "abcdx", False),
        ("abcdef", "abcdeg", True),
        ("ab", "abc", True),
        ("ab", "", False),
    ],
)
def test_a_search_that_brings_the_same_again_has_converged(before: str, now: str, expected: bool) -> None:
    """The top five decide, in any order."""
    assert converged(before, now) is expected
