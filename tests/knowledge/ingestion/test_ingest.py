"""Test ingestion of new, unchanged, changed, deleted and unreadable files, and interruptions."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import IngestProgress, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion.readers import ReaderProcess
from tenure.knowledge.store.errors import EmbeddingModelMismatch, WorkCancelled
from tenure.knowledge.store.schema import CACHE, SOURCES, build_chunk_table_name
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors
from tests.sources.pdfs import make_pdf
from tests.support.tiers import exhaustive, slow


def _rows(uri: str, dimensions: int = 256) -> tuple[list[str], list[str]]:
    """Return all source and chunk ids, sorted."""
    store = Store(uri)
    tables = (SOURCES, build_chunk_table_name(dimensions))
    chunks, sources = (sorted(store.read_rows(table, ["id"])["id"].to_pylist()) for table in reversed(tables))
    return sources, chunks


def _list_versions(uri: str) -> dict[str, int]:
    """Return the newest version of every table."""
    store = Store(uri)
    return {name: store.open_table(name).version for name in store.list_table_names()}


def test_documents_become_searchable_chunks(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A folder is read recursively, and its documents are found by their content."""
    report = ingest(docs)

    assert (report.files, report.added, report.changed, report.skipped_total) == (3, 3, 0, 0)
    assert report.chunks == report.embedded > 0
    [found] = knowledge.retrieval.search(SearchRequest(query="where bees find nectar", corpora=("c",), k=1)).passages
    assert knowledge.corpora.load_passages([found])[0].title == "Honeybees"


@slow
def test_chunks_are_verbatim_pieces_of_their_source(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Every passage equals the text of its source between its offsets."""
    ingest(docs)
    refs = knowledge.retrieval.search(SearchRequest(query="oven queen item", corpora=("c",), k=50)).passages
    sources = knowledge.corpora.load_sources([ref.source for ref in refs])
    passages = knowledge.corpora.load_passages(refs)

    assert {"bread.md", "bees.md", "queue.py"} == {Path(source.uri).name for source in sources.values()}
    assert all(sources[p.source].text[p.start : p.end] == p.text for p in passages)
    assert {"prose", "code"} == {p.kind for p in passages}


@slow
def test_offsets_are_mapped_to_pages(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """An offset in a PDF has a page; one in a text without pages has none."""
    (docs / "paper.pdf").write_bytes(make_pdf([["Tides rise twice a day."], ["Zebras graze alone."]]))
    ingest(docs)
    refs = knowledge.retrieval.search(SearchRequest(query="zebras oven", corpora=("c",), k=50)).passages
    found = {
        Path(source.uri).name: source
        for source in knowledge.corpora.load_sources([ref.source for ref in refs]).values()
    }
    paper = found["paper.pdf"]

    assert [paper.find_page(paper.text.index(word)) for word in ("Tides", "Zebras")] == [1, 2]
    assert found["bread.md"].find_page(0) is None


@slow
def test_offsets_are_mapped_to_moments(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """An offset in a transcript has the time and the speaker; one in another text has none."""
    (docs / "talk.srt").write_text("1\n00:12:31,000 --> 00:12:33,000\nZebras graze alone.\n", encoding="utf-8")
    ingest(docs)
    refs = knowledge.retrieval.search(SearchRequest(query="zebras oven", corpora=("c",), k=50)).passages
    found = {
        Path(source.uri).name: source.find_place(0)
        for source in knowledge.corpora.load_sources([ref.source for ref in refs]).values()
    }

    assert (found["talk.srt"], found["bread.md"]) == ("00:12:31", "")


@slow
def test_unchanged_files_are_skipped(ingest: Ingest, docs: Path, model: WordVectors, uri: str) -> None:
    """A second ingestion embeds and writes nothing, even for a touched file."""
    ingest(docs)
    before, rows, versions = model.embedded, _rows(uri), _list_versions(uri)
    os.utime(docs / "bread.md", (1, 1))
    report = ingest(docs)

    assert (report.unchanged, report.added, report.chunks) == (3, 0, 0)
    assert before == model.embedded
    assert rows == _rows(uri)
    assert versions == _list_versions(uri)


@slow
def test_an_unchanged_folder_starts_no_reader(ingest: Ingest, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with images is compared without a reader process, and the images are reported again."""
    (docs / "diagram.svg").write_bytes(b"<svg/>")
    first = ingest(docs)
    monkeypatch.setattr(ReaderProcess, "read", lambda reader, task: pytest.fail(f"{task.path} was opened"))
    second = ingest(docs)

    assert (second.unchanged, second.skipped_total) == (3, 1)
    assert first.skipped == second.skipped
    assert second.skipped[0].reason == "is an image of a format that is not read (convert it to PNG)"


def test_changed_file_replaces_its_chunks(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Nothing of the old text is found, and the source keeps its id."""
    ingest(docs)
    [old] = knowledge.retrieval.search(SearchRequest(query="sourdough starter", corpora=("c",), k=1)).passages
    (docs / "bread.md").write_text("# Rye\n\nRye needs a longer rest than wheat.\n", encoding="utf-8")
    report = ingest(docs)
    refs = knowledge.retrieval.search(SearchRequest(query="sourdough starter rye", corpora=("c",), k=50)).passages

    assert (report.changed, report.unchanged) == (1, 2)
    assert not any("starter" in passage.text for passage in knowledge.corpora.load_passages(refs))
    assert old.source in {ref.source for ref in refs}
    assert "longer rest" in knowledge.corpora.load_sources([old.source])[old.source].text


def test_deleted_files_are_removed_only_below_the_requested_paths(
    knowledge: KnowledgeBase, ingest: Ingest, docs: Path
) -> None:
    """Rows of deleted files go; files outside the requested paths stay."""
    ingest(docs)
    (docs / "bees.md").unlink()

    assert ingest(docs / "code").removed == 0
    assert knowledge.corpora.load_stats()[0].sources == 3
    assert ingest(docs).removed == 1
    assert knowledge.corpora.load_stats()[0].sources == 2


@slow
def test_unreadable_files_are_skipped_with_a_reason(ingest: Ingest, docs: Path) -> None:
    """An empty and a binary file are skipped; the others are read."""
    (docs / "empty.md").touch()
    (docs / "noise.txt").write_bytes(bytes(range(256)) * 40)
    report = ingest(docs)

    assert (report.added, report.skipped_total) == (3, 2)
    assert {"empty.md", "noise.txt"} == {Path(skipped.path).name for skipped in report.skipped}
    assert all(skipped.reason for skipped in report.skipped)


@slow
def test_file_that_became_unreadable_is_removed(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """The earlier text of a file that was emptied is not found."""
    ingest(docs)
    (docs / "bees.md").write_bytes(b"")
    report = ingest(docs)

    assert (report.removed, report.skipped_total) == (1, 1)
    assert knowledge.corpora.load_stats()[0].sources == 2


def test_missing_path_raises_an_error(ingest: Ingest, tmp_path: Path) -> None:
    """A missing path does not create an empty corpus."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ingest(tmp_path / "nowhere")


def test_empty_folder_creates_an_empty_corpus(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> None:
    """The corpus exists, and a search in it finds nothing."""
    (tmp_path / "void").mkdir()
    report = ingest(tmp_path / "void", corpus="it's empty")

    assert report.files == 0
    assert [(stats.corpus, stats.chunks) for stats in knowledge.corpora.load_stats()] == [("it's empty", 0)]
    assert knowledge.retrieval.search(SearchRequest(query="anything", corpora=("it's empty",))).passages == ()


@slow
def test_known_texts_are_not_embedded_again(ingest: Ingest, docs: Path, model: WordVectors) -> None:
    """Chunks of another corpus with the same text take their vectors from the cache."""
    first = ingest(docs)
    second = ingest(docs, corpus="copy")

    assert (first.chunks, 0) == (second.chunks, second.embedded)


@slow
def test_progress_ends_with_all_files_done(knowledge: KnowledgeBase, docs: Path) -> None:
    """Progress starts with the scan and ends with all files."""
    heard: list[IngestProgress] = []
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(docs),)), heard.append)

    assert (heard[0].stage, heard[-1].stage) == ("scanning", "done")
    assert (heard[-1].files_done, heard[-1].files_total) == (3, 3)
    assert heard[-1].chunks > 0


@slow
def test_cancelled_ingestion_is_continued(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A cancelled ingestion raises, and the next one completes it."""
    with pytest.raises(WorkCancelled):
        knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None, lambda: True)

    assert ingest(docs).added == 3


@slow
def test_another_chunk_length_reads_all_files_again(ingest: Ingest, docs: Path, uri: str, model: WordVectors) -> None:
    """A known file is read again if it would be cut differently."""
    ingest(docs)
    other = KnowledgeBase(uri, model, KnowledgeSettings(chunk_tokens=40, cold_start_chunks=100_000))
    report = other.corpora.ingest(IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None)

    assert report.changed == 3


@slow
@pytest.mark.parametrize("dimensions", [pytest.param(256, marks=exhaustive), 64])
def test_ingesting_all_folders_changes_the_model(ingest: Ingest, docs: Path, uri: str, dimensions: int) -> None:
    """All folders of a corpus can be ingested with another model, a part of them cannot."""
    ingest(docs)
    other = KnowledgeBase(uri, WordVectors("other", dimensions))
    with pytest.raises(EmbeddingModelMismatch, match="words"):
        other.corpora.ingest(IngestRequest(corpus="c", paths=(str(docs / "code"),)), lambda progress: None)
    report = other.corpora.ingest(IngestRequest(corpus="c", paths=(str(docs),)), lambda progress: None)

    assert report.changed == 3
    assert other.retrieval.search(SearchRequest(query="bees dance", corpora=("c",))).passages
    assert other.corpora.load_stats()[0].embedding_model == "other"
    assert report.chunks == sum(Store(uri).count_rows(table) for table in Store(uri).list_chunk_tables())


_KILLED = """
import sys
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.settings.knowledge import KnowledgeSettings
from tests.knowledge.word_vectors import DyingVectors

request = IngestRequest(corpus="c", paths=(sys.argv[2],))
base = KnowledgeBase(sys.argv[1], DyingVectors(), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000))
base.corpora.ingest(request, lambda progress: None)
"""


@slow
def test_killed_ingestion_is_completed_by_the_next(tmp_path: Path, uri: str) -> None:
    """After a kill and a repetition the rows equal those of an undisturbed ingestion."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        paragraphs = (f"Paragraph {n} of document {number} " + f"tells of topic{n} " * 12 + "." for n in range(30))
        (folder / f"{number}.md").write_text(f"# Document {number}\n\n" + "\n\n".join(paragraphs), encoding="utf-8")
    killed = subprocess.run([sys.executable, "-c", _KILLED, uri, str(folder)], check=False)
    request = IngestRequest(corpus="c", paths=(str(folder),))
    half = Store(uri).count_rows(build_chunk_table_name(256), "vector IS NOT NULL")
    report = KnowledgeBase(
        uri, WordVectors(), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000)
    ).corpora.ingest(request, lambda progress: None)
    calm = str(tmp_path / "calm")
    KnowledgeBase(calm, WordVectors(), KnowledgeSettings(chunk_tokens=32, cold_start_chunks=100_000)).corpora.ingest(
        request, lambda progress: None
    )

    assert killed.returncode == -signal.SIGKILL
    assert 0 < half < Store(calm).count_rows(build_chunk_table_name(256))
    assert report.unchanged > 0
    assert _rows(calm) == _rows(uri)
    assert Store(calm).count_rows(CACHE) == Store(uri).count_rows(CACHE)
