"""Tests of the choice of effort and retrieval strategy."""

from itertools import pairwise
from typing import get_args

import pytest

from tenure.algorithms.research.effort import (
    EFFORT_WITH_MODEL,
    EFFORT_WITHOUT_MODEL,
    UNASKED_SHARE,
    choose_effort,
    choose_effort_bounds,
    compute_unasked_amounts,
    has_converged,
    needs_decomposition,
    resolve_strategy,
)
from tenure.contracts.choices import Complexity, ReportLength
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.research.spiral import PlanStep
from tenure.contracts.run.control import BudgetBounds
from tenure.contracts.run.limits import EFFORT_COSTS, TOOL_STRATEGY
from tenure.contracts.run.run import RunLimits
from tests.support.passages import reference


@pytest.mark.parametrize(("complexity", "sections"), [("simple", 2), ("moderate", 4), ("complex", 8)])
def test_complexity_sets_the_effort(complexity: Complexity, sections: int) -> None:
    """Without limits of the user the defaults apply, within the maximum number of sections."""
    assert choose_effort(complexity, RunLimits()) == EFFORT_WITHOUT_MODEL[complexity].model_copy(
        update={"sections": sections}
    )


def test_limits_override_the_complexity() -> None:
    """Limits override the complexity."""
    limits = RunLimits(effort="simple", max_cycles=9, subagents=7, max_sections=1)

    assert choose_effort("complex", limits) == EFFORT_WITHOUT_MODEL["simple"].model_copy(
        update={"cycles": 9, "subagents": 7, "outline_searches": 7, "sections": 1}
    )


def test_the_length_of_a_report_scales_its_sections() -> None:
    """A short report has fewer sections and a long one more, within the maximum number of sections."""
    lengths: tuple[ReportLength, ...] = get_args(ReportLength)

    assert [choose_effort("moderate", RunLimits(length=length)).sections for length in lengths] == [2, 4, 6]
    assert choose_effort("complex", RunLimits(length="long", max_sections=3)).sections == 3


def test_effort_grows_with_complexity() -> None:
    """Effort grows with complexity; only a complex question has further cycles without a model."""
    figures = ("cycles", "subagents", "hops", "sections")
    simple, moderate, complex_ = (
        [getattr(EFFORT_WITHOUT_MODEL[c], figure) for figure in figures] for c in ("simple", "moderate", "complex")
    )

    assert all(a <= b < c for a, b, c in zip(simple, moderate, complex_, strict=True))


@pytest.mark.parametrize(
    ("query", "hops", "expected"),
    [
        ("What is sourdough?", 3, "direct"),
        ("How do I bake bread?", 3, "direct"),
        ("Why does dough rise?", 1, "direct"),
        ("Why does dough rise?", 3, "iterative"),
        ("Which town led to the fame of sourdough, due to its bakers?", 3, "multi_hop"),
        ("Explain why dough rises", 3, "iterative"),
        ("How do I bake a bread of rye that stays fresh for a week or longer?", 3, "iterative"),
        ("Which objections to sourdough are there?", 3, "contrastive"),
        ("Should I knead dough?", 3, "contrastive"),
        ("How long should rye and wheat rise, and which of them should a beginner bake?", 3, "iterative"),
        ("Give an overview of breads", 3, "hierarchical"),
        ("What is the difference between rye and wheat?", 3, "hierarchical"),
        ("Which objections to sourdough are there?", 1, "direct"),
        ("What is the town in which the founder of the oldest bakery of Vienna was born?", 3, "multi_hop"),
        ("Why do bakers disagree on salt?", 3, "contrastive"),
        ("Which figures of the report disagree with the table, and why?", 3, "iterative"),
    ],
)
def test_query_suggests_a_strategy(query: str, hops: int, expected: RetrievalStrategy) -> None:
    """Simple queries are direct; contested, broad and long ones have strategies of their own."""
    assert resolve_strategy(PlanStep(id="s1", query=query, topic="Bread"), hops) == expected


def test_reading_a_source_is_direct() -> None:
    """Reading a source is direct."""
    step = PlanStep(id="s1", query="Why does dough rise in the cold?", topic="Bread", read_passage=reference(0.5))

    assert resolve_strategy(step, 3) == resolve_strategy(step, 3, "iterative") == "direct"


def test_user_overrides_plan_and_plan_overrides_query() -> None:
    """A requested strategy applies whatever the query suggests."""
    planned = PlanStep(id="s1", query="What is sourdough?", topic="Bread", strategy="hierarchical")

    assert resolve_strategy(planned, 1) == "hierarchical"
    assert resolve_strategy(planned, 3, "memory") == "memory"


def test_a_task_with_tools_is_no_search_that_a_user_chooses() -> None:
    """A requested strategy says how tasks search; a task that the plan gives to tools keeps them."""
    planned = PlanStep(id="s1", query="What was sold in May?", topic="Bread", strategy=TOOL_STRATEGY)

    assert resolve_strategy(planned, 1, "memory") == TOOL_STRATEGY


@pytest.mark.parametrize(("complexity", "max_calls"), [("simple", 8), ("moderate", 10), ("complex", 22)])
def test_tools_keep_a_run_within_its_calls(complexity: Complexity, max_calls: int) -> None:
    """The typical calls of a run and those of its tasks with tools are together as few as an effort promises."""
    effort = EFFORT_WITH_MODEL[complexity]

    assert effort.tool_answers is not None
    assert EFFORT_COSTS[complexity].calls + effort.tool_answers <= max_calls <= EFFORT_COSTS[complexity].max_calls


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
def test_same_results_have_converged(before: str, now: str, expected: bool) -> None:
    """The five best results decide, in any order."""
    assert has_converged(before, now) is expected


@pytest.mark.parametrize("complexity", ["simple", "moderate", "complex"])
def test_with_a_model_an_effort_has_bounds(complexity: Complexity) -> None:
    """With a model the effort is one by worth, within bounds; limits of people leave only their own bounds."""
    limits = RunLimits(has_model=True)
    effort = choose_effort(complexity, limits)

    assert effort == EFFORT_WITH_MODEL[complexity]
    bounds = BudgetBounds(max_calls=effort.max_calls, max_tokens=effort.max_tokens)
    assert choose_effort_bounds(effort, limits) == bounds
    assert choose_effort_bounds(effort, limits.model_copy(update={"max_cost_usd": 1.0})) is None
    assert choose_effort_bounds(choose_effort(complexity, RunLimits()), RunLimits()) is None

    unasked = compute_unasked_amounts(bounds)
    assert 0 < unasked.calls <= (effort.max_calls or 0) * UNASKED_SHARE
    assert 0 < unasked.tokens <= (effort.max_tokens or 0) * UNASKED_SHARE
    assert 2 * UNASKED_SHARE < 1  # report and research together


def test_every_effort_with_a_model_costs_less_than_the_next() -> None:
    """Bounds and typical figures grow with the effort, and what is typical is within the bounds."""
    costs = [EFFORT_COSTS[effort] for effort in ("simple", "moderate", "complex")]

    assert all(all(a < b for a, b in zip(*pair, strict=True)) for pair in pairwise(costs))
    assert all(cost.calls <= cost.max_calls for cost in costs)
    assert all(cost.tokens_in + cost.tokens_out <= cost.max_tokens for cost in costs)
    assert all(cost.chain <= cost.calls for cost in costs)


@pytest.mark.parametrize(
    ("question", "complexity", "limits", "expected"),
    [
        ("What is rye?", "simple", RunLimits(), True),
        ("Who wrote Dune, and where was he born?", "moderate", RunLimits(has_model=True), False),
        ("Who wrote Dune, and where was he born?", "moderate", RunLimits(has_model=True, effort="complex"), True),
        ("What is rye?", "complex", RunLimits(has_model=True), False),
    ],
)
def test_a_model_splits_complex_questions_with_parts(
    question: str, complexity: Complexity, limits: RunLimits, expected: bool
) -> None:
    """Without a model every question is split; with one, only a complex question whose parts rules can see."""
    assert needs_decomposition(question, complexity, limits) is expected
