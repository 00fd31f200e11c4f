"""Effort: how much work a question is worth (document 004, complexity)."""

from collections.abc import Mapping, Sequence

from tenure.algorithms.query_type import classify
from tenure.contracts.run import Complexity, Limits
from tenure.contracts.spiral import Effort, Step, Strategy

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


PLAIN_WORDS = 8
"""Words of a plain question at the most; a longer one mostly hides another one."""


def strategy(step: Step, hops: int) -> Strategy:
    """Return how a task searches: a plain question for a fact or a procedure once, all others from hop to hop."""
    plain = classify(step.query).primary in ("factual", "procedural") and len(step.query.split()) <= PLAIN_WORDS
    return "direct" if plain or step.reads or hops == 1 else "multi_hop"


def converged(before: Sequence[str], now: Sequence[str], share: float = 0.95) -> bool:
    """Tell whether a search brings what the one before it brought: the top five overlap in the share (DESIGN §5)."""
    return bool(before) and len(set(before[:5]) & set(now[:5])) >= share * len(set(before[:5]))
