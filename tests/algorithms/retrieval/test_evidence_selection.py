"""Tests of selecting evidence from search results."""

import pytest

from tenure.algorithms.retrieval.evidence_selection import (
    MAX_GRAPH_RANK,
    MIN_SUPPORTING_SHARE,
    is_computed,
    merge_translations,
    select_evidence,
)
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest
from tests.support.passages import reference

STRONG, WEAK, NOISE = reference(0.5, "a"), reference(0.4 * (1 + MIN_SUPPORTING_SHARE) / 2, "b"), reference(0.01, "c")


def test_weaker_passages_support_a_relevant_one() -> None:
    """With a relevant passage, supporting passages count too, in search order; noise does not."""
    assert select_evidence([NOISE, WEAK, STRONG], 0.4) == (WEAK, STRONG)


def test_weak_passages_alone_are_no_evidence() -> None:
    """Many weakly similar passages are not evidence."""
    assert select_evidence([WEAK, NOISE, WEAK], 0.4) == ()


def test_empty_search_has_no_evidence() -> None:
    """A search without results has no evidence."""
    assert select_evidence([], 0.0) == ()


@pytest.mark.parametrize(
    ("rank", "kept"), [(1, True), (MAX_GRAPH_RANK, True), (MAX_GRAPH_RANK + 1, False), (None, False)]
)
def test_linked_passages_support_a_relevant_one(rank: int | None, kept: bool) -> None:
    """A linked passage counts in addition to a relevant one, whatever its similarity."""
    best = reference(0.6)
    linked = reference(0.0, "b", "1").model_copy(update={"graph_rank": rank})

    assert (linked in select_evidence([best, linked], 0.3)) is kept
    assert select_evidence([linked], 0.3) == ()


@pytest.mark.parametrize("leg", ["dense_rank", "sparse_rank", "graph_rank"])
def test_passage_without_rank_was_computed(leg: str) -> None:
    """A passage with a rank of any retriever was not computed."""
    assert is_computed(NOISE) and not is_computed(NOISE.model_copy(update={leg: 1}))


def _found(*passages: tuple[str, float], languages: tuple[str, ...] = ()) -> SearchReply:
    """Return passages of a source named by the first letter of the chunk, with their relevance."""
    refs = (
        PassageRef(chunk=ChunkId(chunk), source=SourceId(chunk[0]), score=9.0, relevance=relevance, sparse_rank=n)
        for n, (chunk, relevance) in enumerate(passages, 1)
    )
    return SearchReply(passages=tuple(refs), foreign_languages=languages)


def test_a_passage_has_the_relevance_to_its_nearest_query() -> None:
    """Passages that several queries find come first; languages with a translation are no longer foreign."""
    request = SearchRequest(query="backups", corpora=("c",))
    query = _found(("e1", 0.6), ("g1", 0.1), languages=("de", "fr"))
    merged = merge_translations(request, query, {"de": _found(("g1", 0.9), ("g2", 0.5))})

    assert [(ref.chunk, ref.relevance) for ref in merged.passages] == [("g1", 0.9), ("e1", 0.6), ("g2", 0.5)]
    assert merged.foreign_languages == ("fr",)


def test_merged_passages_keep_the_limits_of_the_search() -> None:
    """Neither the number of passages nor that of a source grows by translations."""
    request = SearchRequest(query="backups", corpora=("c",), k=2, max_per_source=1)
    merged = merge_translations(request, _found(("g1", 0.5)), {"de": _found(("g2", 0.9), ("h1", 0.8), ("i1", 0.7))})

    assert [ref.chunk for ref in merged.passages] == ["g2", "h1"]
