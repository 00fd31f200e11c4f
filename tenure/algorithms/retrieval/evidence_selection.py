"""Select the search results that are relevant enough to serve as evidence."""

from collections.abc import Sequence

from tenure.contracts.evidence.passages import PassageRef

MIN_SUPPORTING_SHARE = 0.65
"""Minimum relevance of a supporting passage, as a share of the threshold that the best passage must reach."""

MAX_GRAPH_RANK = 8
"""Maximum rank in the graph search at which a passage is accepted regardless of its similarity to the question."""


def select_evidence(passages: Sequence[PassageRef], min_relevance: float) -> tuple[PassageRef, ...]:
    """Return the passages that count as evidence, in their order.

    The best passage must reach `min_relevance`, since in a large corpus some passage resembles any question a little.
    If it does, weaker passages may support it.
    """
    if max((passage.relevance for passage in passages), default=-1.0) < min_relevance:
        return ()
    min_supporting = MIN_SUPPORTING_SHARE * min_relevance
    return tuple(passage for passage in passages if passage.relevance >= min_supporting or is_linked(passage))


def is_linked(passage: PassageRef) -> bool:
    """Return whether the graph search found a passage, so that it may support a relevant one.

    The second page of a multi-hop chain need not share a word with the question; it is found through the first page.
    """
    return passage.graph_rank is not None and passage.graph_rank <= MAX_GRAPH_RANK


def is_computed(passage: PassageRef) -> bool:
    """Return whether a passage was computed for the task instead of found by a search, and need not share its words."""
    return passage.dense_rank is None and passage.sparse_rank is None and passage.graph_rank is None
