"""Effort: how much work a question is worth, and how its tasks search (004, complexity; 003, strategies)."""

import re
from collections.abc import Mapping, Sequence

from tenure.algorithms.retrieval.query_type import classify
from tenure.contracts.evidence.retrieval import Strategy
from tenure.contracts.research.spiral import Effort, Step
from tenure.contracts.run.run import Complexity, Limits

EFFORTS: Mapping[Complexity, Effort] = {
    "simple": Effort(cycles=1, subagents=2, hops=1, sections=2),
    "moderate": Effort(cycles=3, subagents=3, hops=2, sections=4),
    "complex": Effort(cycles=6, subagents=4, hops=3, sections=12),
}
"""What a question of each complexity gets, before a person or a flag says otherwise."""


def effort(complexity: Complexity, limits: Limits) -> Effort:
    """Return the effort for a question; the run's limits override what its complexity suggests."""
    suggested = EFFORTS[limits.effort or complexity]
    return suggested.model_copy(
        update={
            "cycles": limits.max_cycles or suggested.cycles,
            "subagents": limits.subagents or suggested.subagents,
            "sections": min(suggested.sections, limits.max_sections),
        }
    )


def going_on(complexity: Complexity, limits: Limits, cycle: int) -> Limits:
    """Return the limits of a research that goes on after a cycle: at least one more fits in."""
    cycles = effort(complexity, limits).cycles
    return limits if cycles > cycle else limits.model_copy(update={"max_cycles": cycle + 1})


PLAIN_WORDS = 8
"""Words of a plain question at the most; a longer one mostly hides another one."""


_CONTESTED = re.compile(
    r"\b(?:controvers\w+|contested|disput\w+|disagree\w*|contradict\w*|conflicting|debat\w+|critics?|criticis\w+|"
    r"object(?:ions?|ed)|opinions?|pros and cons|for and against|arguments?|myth|is it true|sceptic\w*|skeptic\w*)\b",
    re.IGNORECASE,
)
"""Words of a question whose sources may disagree."""
_BROAD = re.compile(
    r"\b(?:overview|survey|landscape|state of the art|introduction to|aspects|approaches|kinds of|types of|"
    r"main (?:ideas|themes|topics)|what is known|tell me about|everything)\b",
    re.IGNORECASE,
)
"""Words of a question that asks for a field instead of a fact."""


def strategy(step: Step, hops: int, chosen: Strategy | None = None) -> Strategy:
    """Return how a task searches: as a person chose, else as its plan says, else as its query suggests.

    Reading on in a source is one search whatever anybody says, and so is every task of an effort without hops
    unless somebody says otherwise.

    Args:
        step: the task.
        hops: searches that the effort gives a task.
        chosen: what a person chose for the whole run.
    """
    if step.reads:
        return "direct"
    return chosen or step.strategy or ("direct" if hops == 1 else _suggested(step.query))


def _suggested(query: str) -> Strategy:
    """Return how to search for a query by its words and its type."""
    kind = classify(query).primary
    if _CONTESTED.search(query) or kind == "evaluative":
        return "contrastive"
    if _BROAD.search(query) or kind == "comparative":
        return "hierarchical"
    if kind == "procedural" or (kind == "factual" and len(query.split()) <= PLAIN_WORDS):
        return "direct" if len(query.split()) <= PLAIN_WORDS else "iterative"
    return "iterative" if kind == "analytical" else "multi_hop"


def converged(before: Sequence[str], now: Sequence[str], share: float = 0.95) -> bool:
    """Tell whether a search brings what the one before it brought: the top five overlap in the share (DESIGN §5)."""
    return bool(before) and len(set(before[:5]) & set(now[:5])) >= share * len(set(before[:5]))
