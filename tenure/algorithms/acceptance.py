"""Acceptance: which of the passages that a search brings are evidence (DESIGN §5, τ_r)."""

from collections.abc import Sequence

from tenure.contracts.evidence import PassageRef

BESIDE = 0.65
"""Share of the least relevance that a passage needs beside one that has it in full."""


def evidence(passages: Sequence[PassageRef], min_relevance: float) -> tuple[PassageRef, ...]:
    """Return the passages that count as evidence, in their order.

    The best passage decides whether the corpus has anything on the question: in a large corpus some
    passage is always a little like any question. Where it has, weaker passages may support it.
    """
    if max((passage.relevance for passage in passages), default=-1.0) < min_relevance:
        return ()
    return tuple(passage for passage in passages if passage.relevance >= BESIDE * min_relevance)
