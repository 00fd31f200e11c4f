"""Select the search results that are relevant enough to serve as evidence, and merge those of translated queries."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tenure.algorithms.retrieval.rrf import fuse_rankings
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest

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


def merge_translations(
    request: SearchRequest, reply: SearchReply, translated: Mapping[str, SearchReply]
) -> SearchReply:
    """Return the passages of a query and of its translations by language, by reciprocal rank fusion.

    A passage has the relevance to the query that it is nearest to: words and vectors of another language show none.
    """
    replies = (reply, *translated.values())
    best: dict[ChunkId, PassageRef] = {}
    for passage in (passage for found in replies for passage in found.passages):
        if passage.chunk not in best or passage.relevance > best[passage.chunk].relevance:
            best[passage.chunk] = passage
    scores = fuse_rankings([{ref.chunk: n for n, ref in enumerate(found.passages, 1)} for found in replies])
    counts = Counter[str]()
    passages: list[PassageRef] = []
    for chunk in sorted(scores, key=lambda chunk: (-scores[chunk], -best[chunk].relevance, chunk)):
        counts[best[chunk].source] += 1
        if request.max_per_source is None or counts[best[chunk].source] <= request.max_per_source:
            passages.append(best[chunk].model_copy(update={"score": scores[chunk]}))
    return reply.model_copy(
        update={
            "passages": tuple(passages[: request.k]),
            "foreign_languages": tuple(name for name in reply.foreign_languages if name not in translated),
        }
    )
