"""Vectors of chunks, wherever they are."""

from pathlib import Path

import pyarrow as pa

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.schema import chunk_id, chunks_schema, source_id
from tenure.knowledge.store.store import Store
from tenure.sources.parsers.reading import ReadFile, ReadTask, Recipe, read
from tests.knowledge.word_vectors import WordVectors


def _chunks(uri: str, model: WordVectors) -> ChunkVectors:
    store = Store(uri)
    return ChunkVectors(store, model, EmbeddingCache(store, model))


def test_what_is_embedded_later_is_what_would_have_been_embedded_at_once(docs: Path, uri: str) -> None:
    """The text is put together from the row as it was from the file, so that both lead to one vector."""
    model = WordVectors()
    (docs / "long.md").write_text("# " + "title " * 120 + "\n\n## Part\n\n" + "word " * 190, encoding="utf-8")
    KnowledgeBase(uri, model, cold_start=0).ingest(IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None)
    expected: dict[str, str] = {}
    for path in (path for path in docs.rglob("*") if path.is_file()):
        outcome = read(ReadTask(str(path)), Recipe(200, model.max_tokens, model.count_tokens))
        assert isinstance(outcome, ReadFile)
        source = source_id("c", str(path))
        expected |= {chunk_id(source, one.start, one.end, one.text): one.embedded for one in outcome.chunks}

    assert len(expected) > 4
    assert _chunks(uri, model).texts(list(expected)) == expected


def test_a_chunk_that_is_gone_is_like_nothing(uri: str) -> None:
    """Its vector is zero, and nothing is embedded for it."""
    model = WordVectors()
    schema = chunks_schema(256)
    rows = pa.table(
        {"id": ["gone"], "vector": pa.nulls(1, schema.field("vector").type)},
        schema=pa.schema([schema.field("id"), schema.field("vector")]),
    )

    assert not _chunks(uri, model).of(rows).any()
    assert model.embedded == 0
