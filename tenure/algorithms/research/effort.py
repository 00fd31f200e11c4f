"""Choose the effort of a run by the complexity of its question, and the retrieval strategy of each task."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.retrieval.positions import find_position
from tenure.algorithms.retrieval.query_type import classify_query
from tenure.contracts.choices import Complexity, ReportLength
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.research.cycle import ResearchEffort
from tenure.contracts.research.spiral import PlanStep
from tenure.contracts.run.budget import BudgetAmounts
from tenure.contracts.run.control import BudgetBounds
from tenure.contracts.run.limits import EFFORT_COSTS, TOOL_STRATEGY
from tenure.contracts.run.run import RunLimits

_WITHOUT_MODEL: Final = dict.fromkeys(("reasons", "reflects", "judges_disputes"), False)
"""Steps that need a model: nothing is reasoned, reviewed or judged by rules."""
EFFORT_WITHOUT_MODEL: Mapping[Complexity, ResearchEffort] = {
    "simple": ResearchEffort(cycles=1, subagents=2, hops=1, sections=2, dossier_tokens=10_000, **_WITHOUT_MODEL),
    "moderate": ResearchEffort(cycles=1, subagents=3, hops=2, sections=4, dossier_tokens=20_000, **_WITHOUT_MODEL),
    "complex": ResearchEffort(cycles=6, subagents=4, hops=3, sections=12, dossier_tokens=36_000, **_WITHOUT_MODEL),
}
"""Effort for a question of each complexity without a model: decisions of rules are free, so all of them are made.

Over 20 questions each of HotpotQA and MuSiQue, a second and third cycle of a moderate question added 4.7 searches on
average and found no further supporting passage."""
EFFORT_WITH_MODEL: Mapping[Complexity, ResearchEffort] = {
    "simple": ResearchEffort(
        cycles=1,
        subagents=2,
        hops=1,
        sections=1,
        outlines=False,
        plans_first_cycle=False,
        imagines=False,
        reasons=False,
        judges_disputes=False,
        reflects=False,
        tool_answers=0,
        dossier_tokens=5_000,
        max_calls=EFFORT_COSTS["simple"].max_calls,
        max_tokens=EFFORT_COSTS["simple"].max_tokens,
    ),
    "moderate": ResearchEffort(
        cycles=2,
        subagents=6,
        # Twelve named searches and the questions of the topics: of each, the best one or two passages fill the dossier.
        outline_searches=20,
        hops=2,
        sections=8,
        outline_passages=16,
        plans_first_cycle=False,
        reasons=False,
        judges_disputes=False,
        # With the other five calls of a run at most ten.
        tool_answers=4,
        # Planner (half of it), writer and two reviews read the view. With 20,000 tokens three
        # runs by hand over large manuals took 94,600 to 103,300 prompt tokens, not the 90,000 of the goal.
        dossier_tokens=17_000,
        max_calls=EFFORT_COSTS["moderate"].max_calls,
        max_tokens=EFFORT_COSTS["moderate"].max_tokens,
    ),
    "complex": ResearchEffort(
        cycles=4,
        subagents=8,
        outline_searches=26,
        hops=2,
        sections=8,
        # Of four questions on the manual, each had a group of passages with a subject that its outline lacked.
        reserved_sections=1,
        outline_passages=24,
        plans_first_cycle=False,
        # With the other calls of a run, twelve at most, no more than 22.
        tool_answers=10,
        dossier_tokens=36_000,
        max_calls=EFFORT_COSTS["complex"].max_calls,
        max_tokens=EFFORT_COSTS["complex"].max_tokens,
    ),
}
"""Effort for a question of each complexity with a model: decisions that rules make as well cost no call.

A simple question is a direct answer: retrieve, write, check. A moderate one has one plan of a model, after the first
searches have shown what is missing. A complex one is judged and planned cycle by cycle.
"""


SECTION_FACTORS: Final[Mapping[ReportLength, float]] = {"short": 0.5, "standard": 1.0, "long": 1.5}
"""Number of sections of a report of each length, relative to that of a standard report."""


def choose_effort(complexity: Complexity, limits: RunLimits) -> ResearchEffort:
    """Return the effort for a question; limits of the run override the default for its complexity."""
    by_complexity = EFFORT_WITH_MODEL if limits.has_model else EFFORT_WITHOUT_MODEL
    suggested = by_complexity[limits.effort or complexity]
    return suggested.model_copy(
        update={
            "cycles": limits.max_cycles or suggested.cycles,
            "subagents": limits.subagents or suggested.subagents,
            "outline_searches": limits.subagents or suggested.outline_searches,
            "sections": min(max(1, round(suggested.sections * SECTION_FACTORS[limits.length])), limits.max_sections),
        }
    )


def choose_effort_bounds(effort: ResearchEffort, limits: RunLimits) -> BudgetBounds | None:
    """Return the bounds of a run's effort; None without a model, or if a person limits its usage."""
    if limits.has_model_budget or effort.max_calls is None:
        return None
    return BudgetBounds(max_calls=effort.max_calls, max_tokens=effort.max_tokens)


UNASKED_SHARE: Final = 1 / 3
"""Share of an effort that each part of a run, the report or the research, may use without a request."""


def compute_unasked_amounts(bounds: BudgetBounds) -> BudgetAmounts:
    """Return the amounts that each part of a run may use of an effort without a request."""
    return BudgetAmounts(
        tokens=int((bounds.max_tokens or 0) * UNASKED_SHARE), calls=int((bounds.max_calls or 0) * UNASKED_SHARE)
    )


def needs_decomposition(question: str, complexity: Complexity, limits: RunLimits) -> bool:
    """Return whether a model splits a question: without a model always, else a complex one with several parts.

    The outliner sees the parts of all others itself.
    """
    if not limits.has_model:
        return True
    return (limits.effort or complexity) == "complex" and len(decompose_question(question)) > 1


def extend_limits(complexity: Complexity, limits: RunLimits, cycle: int) -> RunLimits:
    """Return limits that allow at least one cycle after `cycle`, to continue finished research."""
    cycles = choose_effort(complexity, limits).cycles
    return limits if cycles > cycle else limits.model_copy(update={"max_cycles": cycle + 1})


MAX_SIMPLE_QUERY_WORDS = 8
"""Maximum number of words of a simple query; longer queries usually contain several questions."""


_CONTESTED = re.compile(
    r"^(?!.*\b(?:figures?|numbers?|totals?|counts?|values?)\b.{0,60}\b(?:disagree|contradict))"
    r".*\b(?:controvers\w+|contested|disput\w+|disagree\w*|contradict\w*|conflicting|debat\w+|critics?|criticis\w+|"
    r"object(?:ions?|ed)|opinions?|pros and cons|for and against|arguments?|myth|is it true|sceptic\w*|skeptic\w*)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Words of questions on which sources may disagree; figures that disagree are compared, not debated."""
_BROAD = re.compile(
    r"\b(?:overview|survey|landscape|state of the art|introduction to|aspects|approaches|kinds of|types of|"
    r"main (?:ideas|themes|topics)|what is known|tell me about|everything)\b",
    re.IGNORECASE,
)
"""Words of questions about a field instead of a fact."""


def resolve_strategy(step: PlanStep, hops: int, requested: RetrievalStrategy | None = None) -> RetrievalStrategy:
    """Return the strategy of a task: tools by the plan, else requested by the user, set by the plan or suggested.

    A task that continues to read a source is always `direct`, as is every task of an effort with one hop unless the
    user or the plan sets another strategy.
    """
    if step.read_passage:
        return "direct"
    if step.strategy == TOOL_STRATEGY:  # a person chooses how tasks search, and this one needs tools
        return step.strategy
    return requested or step.strategy or ("direct" if hops == 1 else _suggest_strategy(step.query))


def _suggest_strategy(query: str) -> RetrievalStrategy:
    kind = classify_query(query).primary
    if _CONTESTED.search(query) or (kind == "evaluative" and find_position(query)):
        return "contrastive"
    if _BROAD.search(query) or kind == "comparative":
        return "hierarchical"
    if kind in ("procedural", "factual") and len(query.split()) <= MAX_SIMPLE_QUERY_WORDS:
        return "direct"
    return "iterative" if kind in ("procedural", "analytical", "evaluative") else "multi_hop"


MIN_OVERLAP: Final = 0.95
"""Minimum share of the five best results that consecutive searches have in common when they have converged."""


def has_converged(previous: Sequence[str], current: Sequence[str]) -> bool:
    """Return whether two consecutive searches share at least `MIN_OVERLAP` of their five best results."""
    return bool(previous) and len(set(previous[:5]) & set(current[:5])) >= MIN_OVERLAP * len(set(previous[:5]))
