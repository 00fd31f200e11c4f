"""What is told of corpora, sources and passages."""

from pathlib import Path

import pytest

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import KnowledgeError
from tests.knowledge.conftest import Ingest


def test_passages_keep_order_and_relevance(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Passages come in the order of their references, repeated ones repeated, each with its relevance."""
    ingest(docs)
    refs = knowledge.search(SearchRequest(query="bees", corpora=("c",), k=4)).passages
    asked = (*reversed(refs), refs[0])
    got = knowledge.passages(asked)

    assert [ref.chunk for ref in asked] == [passage.chunk for passage in got]
    assert [ref.relevance for ref in asked] == [passage.relevance for passage in got]


def test_no_reference_gives_no_passage(knowledge: KnowledgeBase) -> None:
    """Nothing asked, nothing answered, even before anything was ingested."""
    assert knowledge.passages([]) == ()
    assert knowledge.sources([]) == {}


def test_an_unknown_chunk_is_an_error(knowledge: KnowledgeBase) -> None:
    """A reference that leads nowhere is never passed over in silence."""
    ref = PassageRef(chunk=ChunkId("gone"), source=SourceId("gone"), score=1, relevance=1)

    with pytest.raises(KnowledgeError, match="gone"):
        knowledge.passages([ref])


def test_statistics_count_what_is_stored(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A corpus's numbers are those of its ingestion."""
    report = ingest(docs)
    [stats] = knowledge.corpora()

    assert ("c", 3, report.chunks, "words") == (stats.corpus, stats.sources, stats.chunks, stats.embedding_model)
    assert stats.characters > 0
    assert stats.updated_at.endswith("+00:00")


def test_a_dropped_corpus_is_gone_and_others_stay(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Dropping tells whether there was something, and touches no other corpus."""
    ingest(docs)
    ingest(docs / "code", corpus="it's another")

    assert knowledge.drop("c") is True
    assert knowledge.drop("c") is False
    assert [stats.corpus for stats in knowledge.corpora()] == ["it's another"]
    assert knowledge.search(SearchRequest(query="queue", corpora=("it's another",))).passages
