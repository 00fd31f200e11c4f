"""Acceptance: which of the passages that a search brings are evidence (DESIGN §5, τ_r)."""

from collections.abc import Sequence

from tenure.contracts.evidence.passages import PassageRef

BESIDE = 0.65
"""Share of the least relevance that a passage needs beside one that has it in full."""

LINKED = 8
"""Rank in the walk over links up to which a passage may support others, however little it resembles the question."""


def evidence(passages: Sequence[PassageRef], min_relevance: float) -> tuple[PassageRef, ...]:
    """Return the passages that count as evidence, in their order.

    The best passage decides whether the corpus has anything on the question: in a large corpus some
    passage is always a little like any question. Where it has, weaker passages may support it.
    """
    if max((passage.relevance for passage in passages), default=-1.0) < min_relevance:
        return ()
    least = BESIDE * min_relevance
    return tuple(passage for passage in passages if passage.relevance >= least or linked(passage))


def linked(passage: PassageRef) -> bool:
    """Tell whether links lead to a passage, so that it may stand beside a relevant one whatever it resembles.

    What a question is about and what answers it need not have a word in common: the second page of a chain
    is known by the first one.
    """
    return passage.graph_rank is not None and passage.graph_rank <= LINKED


def computed(passage: PassageRef) -> bool:
    """Tell whether no search has found a passage: it was computed for the task, and need not resemble its words."""
    return passage.dense_rank is None and passage.sparse_rank is None and passage.graph_rank is None
