"""Test the records of corpora, sources and passages."""

from pathlib import Path

import pyarrow as pa
import pytest

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.corpora import DocumentChoice
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import CorruptTable, KnowledgeError
from tenure.knowledge.store.schema import build_chunk_schema, build_chunk_table_name
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow


@slow
def test_passages_keep_order_and_relevance(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Passages are returned in the order of their references, with repetitions and relevance."""
    ingest(docs)
    refs = knowledge.retrieval.search(SearchRequest(query="bees", corpora=("c",), k=4)).passages
    asked = (*reversed(refs), refs[0])
    got = knowledge.corpora.load_passages(asked)

    assert [ref.chunk for ref in asked] == [passage.chunk for passage in got]
    assert [ref.relevance for ref in asked] == [passage.relevance for passage in got]


def test_no_references_return_no_passages(knowledge: KnowledgeBase) -> None:
    """This also holds before the first ingestion."""
    assert knowledge.corpora.load_passages([]) == ()
    assert knowledge.corpora.load_sources([]) == {}


def test_unknown_chunk_raises_an_error(knowledge: KnowledgeBase) -> None:
    """A dangling reference is never skipped."""
    ref = PassageRef(chunk=ChunkId("gone"), source=SourceId("gone"), score=1, relevance=1)

    with pytest.raises(KnowledgeError, match="gone"):
        knowledge.corpora.load_passages([ref])


def test_a_changed_text_is_never_returned(knowledge: KnowledgeBase, ingest: Ingest, docs: Path, uri: str) -> None:
    """Inverted bits in the text of a chunk, which the database does not detect, are an error that names the table."""
    ingest(docs / "bread.md")
    refs = knowledge.retrieval.search(SearchRequest(query="oven", corpora=("c",))).passages
    store, table = Store(uri), build_chunk_table_name(256)
    rows = store.read_rows(table, store.open_table(table).schema.names, f"id = '{refs[0].chunk}'").to_pylist()
    changed = [rows[0] | {"text": rows[0]["text"].replace("e", "d", 1)}]
    store.upsert(table, pa.Table.from_pylist(changed, schema=build_chunk_schema(256)), "id")

    with pytest.raises(CorruptTable, match=r"'chunks_256'.*does not match its id"):
        knowledge.corpora.load_passages(refs)
    assert len(knowledge.corpora.load_passages(refs[1:])) == len(refs) - 1


@slow
def test_statistics_match_the_ingestion(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """The statistics of a corpus equal those of its ingestion."""
    report = ingest(docs)
    [stats] = knowledge.corpora.load_stats()

    assert ("c", 3, report.chunks, "words") == (stats.corpus, stats.sources, stats.chunks, stats.embedding_model)
    assert stats.characters > 0
    assert stats.updated_at.endswith("+00:00")


@slow
@slow
def test_documents_are_listed_by_page_and_words(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Pages follow each other in the order of the titles, and words choose among titles and paths."""
    ingest(docs)
    listed, total = knowledge.corpora.list_documents("c", DocumentChoice())
    pages = [knowledge.corpora.list_documents("c", DocumentChoice(offset=n, limit=1)) for n in range(total)]
    named, matches = knowledge.corpora.list_documents("c", DocumentChoice(words=listed[0].uri.upper()))

    assert total == len(listed) > 1 and [page for (page,), _ in pages] == list(listed)
    assert [one.title.casefold() for one in listed] == sorted(one.title.casefold() for one in listed)
    assert (named, matches) == (listed[:1], 1)
    assert knowledge.corpora.list_documents("other", DocumentChoice()) == ((), 0)


def test_dropping_a_corpus_keeps_others(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Dropping returns whether the corpus existed."""
    ingest(docs)
    ingest(docs / "code", corpus="it's another")

    assert knowledge.corpora.drop("c") is True
    assert knowledge.corpora.drop("c") is False
    assert [stats.corpus for stats in knowledge.corpora.load_stats()] == ["it's another"]
    assert knowledge.retrieval.search(SearchRequest(query="queue", corpora=("it's another",))).passages
