"""Ingestion: what becomes of files that are new, known, changed, gone or unreadable, and of interruptions."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import IngestProgress, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import EmbeddingModelMismatch, IngestCancelled
from tenure.knowledge.store.schema import CACHE, SOURCES, chunks_table
from tenure.knowledge.store.store import Store
from tests.conftest import slow_form
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors
from tests.sources.pdfs import make_pdf


def _rows(uri: str, dimensions: int = 256) -> tuple[list[str], list[str]]:
    """Return all source and chunk ids, sorted."""
    store = Store(uri)
    tables = (SOURCES, chunks_table(dimensions))
    chunks, sources = (sorted(store.rows(table, ["id"])["id"].to_pylist()) for table in reversed(tables))
    return sources, chunks


def test_documents_become_searchable_chunks(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A folder is read recursively, and its documents are found by what they say."""
    report = ingest(docs)

    assert (report.files, report.added, report.changed, report.skipped_total) == (3, 3, 0, 0)
    assert report.chunks == report.embedded > 0
    [found] = knowledge.search(SearchRequest(query="where bees find nectar", corpora=("c",), k=1)).passages
    assert knowledge.passages([found])[0].title == "Honeybees"


def test_chunks_are_verbatim_pieces_of_their_source(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Every passage is its source's text between its offsets."""
    ingest(docs)
    refs = knowledge.search(SearchRequest(query="oven queen item", corpora=("c",), k=50)).passages
    sources = knowledge.sources([ref.source for ref in refs])
    passages = knowledge.passages(refs)

    assert {"bread.md", "bees.md", "queue.py"} == {Path(source.uri).name for source in sources.values()}
    assert all(sources[p.source].text[p.start : p.end] == p.text for p in passages)
    assert {"prose", "code"} == {p.kind for p in passages}


def test_the_pages_of_a_document_are_known(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A place in a PDF's text has a page, one in a text without pages has none."""
    (docs / "paper.pdf").write_bytes(make_pdf([["Tides rise twice a day."], ["Zebras graze alone."]]))
    ingest(docs)
    refs = knowledge.search(SearchRequest(query="zebras oven", corpora=("c",), k=50)).passages
    found = {Path(source.uri).name: source for source in knowledge.sources([ref.source for ref in refs]).values()}
    paper = found["paper.pdf"]

    assert [paper.page(paper.text.index(word)) for word in ("Tides", "Zebras")] == [1, 2]
    assert found["bread.md"].page(0) is None


def test_unchanged_files_cost_nothing(ingest: Ingest, docs: Path, model: WordVectors, uri: str) -> None:
    """A second ingestion embeds and writes nothing, even when a file was touched."""
    ingest(docs)
    before, rows = model.embedded, _rows(uri)
    os.utime(docs / "bread.md", (1, 1))
    report = ingest(docs)

    assert (report.unchanged, report.added, report.chunks) == (3, 0, 0)
    assert before == model.embedded
    assert rows == _rows(uri)


def test_a_changed_file_replaces_its_chunks(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """After a change nothing of the old text is found, and its source keeps its id."""
    ingest(docs)
    [old] = knowledge.search(SearchRequest(query="sourdough starter", corpora=("c",), k=1)).passages
    (docs / "bread.md").write_text("# Rye\n\nRye needs a longer rest than wheat.\n", encoding="utf-8")
    report = ingest(docs)
    refs = knowledge.search(SearchRequest(query="sourdough starter rye", corpora=("c",), k=50)).passages

    assert (report.changed, report.unchanged) == (1, 2)
    assert not any("starter" in passage.text for passage in knowledge.passages(refs))
    assert old.source in {ref.source for ref in refs}
    assert "longer rest" in knowledge.sources([old.source])[old.source].text


def test_files_that_are_gone_are_forgotten_under_the_roots_only(
    knowledge: KnowledgeBase, ingest: Ingest, docs: Path
) -> None:
    """A deleted file's rows go; files outside the request's paths stay, gone or not."""
    ingest(docs)
    (docs / "bees.md").unlink()

    assert ingest(docs / "code").removed == 0
    assert knowledge.corpora()[0].sources == 3
    assert ingest(docs).removed == 1
    assert knowledge.corpora()[0].sources == 2


def test_unreadable_files_are_reported_and_stop_nothing(ingest: Ingest, docs: Path) -> None:
    """An empty and a binary file are skipped with a reason each; the others are read."""
    (docs / "empty.md").touch()
    (docs / "noise.txt").write_bytes(bytes(range(256)) * 40)
    report = ingest(docs)

    assert (report.added, report.skipped_total) == (3, 2)
    assert {"empty.md", "noise.txt"} == {Path(skipped.path).name for skipped in report.skipped}
    assert all(skipped.reason for skipped in report.skipped)


def test_a_file_that_became_unreadable_is_no_evidence_any_more(
    knowledge: KnowledgeBase, ingest: Ingest, docs: Path
) -> None:
    """What a file said before it was emptied is not found again."""
    ingest(docs)
    (docs / "bees.md").write_bytes(b"")
    report = ingest(docs)

    assert (report.removed, report.skipped_total) == (1, 1)
    assert knowledge.corpora()[0].sources == 2


def test_a_missing_path_is_an_error(ingest: Ingest, tmp_path: Path) -> None:
    """A path that is not there is the caller's mistake, not an empty corpus."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ingest(tmp_path / "nowhere")


def test_an_empty_folder_makes_a_known_empty_corpus(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> None:
    """No file is fine: the corpus is known, and a search in it finds nothing."""
    (tmp_path / "void").mkdir()
    report = ingest(tmp_path / "void", corpus="it's empty")

    assert report.files == 0
    assert [(stats.corpus, stats.chunks) for stats in knowledge.corpora()] == [("it's empty", 0)]
    assert knowledge.search(SearchRequest(query="anything", corpora=("it's empty",))).passages == ()


def test_known_texts_are_not_embedded_again(ingest: Ingest, docs: Path, model: WordVectors) -> None:
    """Chunks that another corpus holds already take their vectors from the cache."""
    first = ingest(docs)
    second = ingest(docs, corpus="copy")

    assert (first.chunks, 0) == (second.chunks, second.embedded)


def test_progress_counts_up_to_the_end(knowledge: KnowledgeBase, docs: Path) -> None:
    """Progress starts with the scan and ends with all files done."""
    heard: list[IngestProgress] = []
    knowledge.ingest(IngestRequest(corpus="c", paths=(str(docs),)), heard.append)

    assert (heard[0].stage, heard[-1].stage) == ("scanning", "done")
    assert (heard[-1].files_done, heard[-1].files_total) == (3, 3)
    assert heard[-1].chunks > 0


def test_cancelling_stops_and_the_next_run_goes_on(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A cancelled ingestion says so, and leaves nothing that the next one cannot complete."""
    with pytest.raises(IngestCancelled):
        knowledge.ingest(IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None, lambda: True)

    assert ingest(docs).added == 3


def test_another_chunk_length_reads_everything_anew(ingest: Ingest, docs: Path, uri: str, model: WordVectors) -> None:
    """A known file is read again when it would now be cut differently."""
    ingest(docs)
    other = KnowledgeBase(uri, model, chunk_tokens=40)
    report = other.ingest(IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None)

    assert report.changed == 3


@pytest.mark.parametrize("dimensions", [pytest.param(256, marks=slow_form), 64])
def test_ingesting_everything_anew_changes_the_model(ingest: Ingest, docs: Path, uri: str, dimensions: int) -> None:
    """With another model all of a corpus's folders can be ingested anew, a part of them cannot."""
    ingest(docs)
    other = KnowledgeBase(uri, WordVectors("other", dimensions))
    with pytest.raises(EmbeddingModelMismatch, match="words"):
        other.ingest(IngestRequest(corpus="c", paths=(str(docs / "code"),)), lambda progress: None)
    report = other.ingest(IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None)

    assert report.changed == 3
    assert other.search(SearchRequest(query="bees dance", corpora=("c",))).passages
    assert other.corpora()[0].embedding_model == "other"
    assert report.chunks == sum(Store(uri).count(table) for table in Store(uri).chunk_tables())


_KILLED = """
import sys
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.word_vectors import DyingVectors

request = IngestRequest(corpus="c", paths=(sys.argv[2],))
KnowledgeBase(sys.argv[1], DyingVectors(), 32).ingest(request, lambda progress: None)
"""


def test_a_killed_ingestion_is_completed_by_the_next(tmp_path: Path, uri: str) -> None:
    """Killed while it embeds and repeated, an ingestion leaves the rows of an undisturbed one."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        paragraphs = (f"Paragraph {n} of document {number} " + f"tells of topic{n} " * 12 + "." for n in range(30))
        (folder / f"{number}.md").write_text(f"# Document {number}\n\n" + "\n\n".join(paragraphs), encoding="utf-8")
    killed = subprocess.run([sys.executable, "-c", _KILLED, uri, str(folder)], check=False)
    request = IngestRequest(corpus="c", paths=(str(folder),))
    half = Store(uri).count(chunks_table(256), "vector IS NOT NULL")
    report = KnowledgeBase(uri, WordVectors(), 32).ingest(request, lambda progress: None)
    calm = str(tmp_path / "calm")
    KnowledgeBase(calm, WordVectors(), 32).ingest(request, lambda progress: None)

    assert killed.returncode == -signal.SIGKILL
    assert 0 < half < Store(calm).count(chunks_table(256))
    assert report.unchanged > 0
    assert _rows(calm) == _rows(uri)
    assert Store(calm).count(CACHE) == Store(uri).count(CACHE)
