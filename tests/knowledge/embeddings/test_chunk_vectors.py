"""Test loading the vectors of chunks."""

from pathlib import Path

import pyarrow as pa

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.schema import build_chunk_schema, make_chunk_id, make_source_id
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings
from tenure.sources.parsers.reader_process import FileTask, ParsedFile, ReadingOptions, read_source
from tests.knowledge.word_vectors import WordVectors


def _chunks(uri: str, model: WordVectors) -> ChunkVectors:
    store = Store(uri)
    return ChunkVectors(store, model, EmbeddingCache(store, model))


def test_embedded_text_from_rows_equals_embedded_text_from_files(docs: Path, uri: str) -> None:
    """The backfill embeds the same text as an ingestion would."""
    model = WordVectors()
    (docs / "long.md").write_text("# " + "title " * 120 + "\n\n## Part\n\n" + "word " * 190, encoding="utf-8")
    KnowledgeBase(uri, model, KnowledgeSettings(cold_start_chunks=0)).corpora.ingest(
        IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None
    )
    expected: dict[str, str] = {}
    for path in (path for path in docs.rglob("*") if path.is_file()):
        outcome = read_source(FileTask(str(path)), ReadingOptions(200, model.max_tokens, model.count_tokens))
        assert isinstance(outcome, ParsedFile)
        source = make_source_id("c", str(path))
        expected |= {make_chunk_id(source, one.start, one.end, one.text): one.embedding_text for one in outcome.chunks}

    assert len(expected) > 4
    assert _chunks(uri, model).load_texts(list(expected)) == expected


def test_deleted_chunk_has_a_zero_vector(uri: str) -> None:
    """Nothing is embedded for a deleted chunk."""
    model = WordVectors()
    schema = build_chunk_schema(256)
    rows = pa.table(
        {"id": ["gone"], "vector": pa.nulls(1, schema.field("vector").type)},
        schema=pa.schema([schema.field("id"), schema.field("vector")]),
    )

    assert not _chunks(uri, model).load_vectors(rows).any()
    assert model.embedded == 0
