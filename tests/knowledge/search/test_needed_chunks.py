"""Test the choice of the chunks that the first search for a question needs."""

from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.search import needed_chunks
from tenure.knowledge.search.needed_chunks import list_needed_chunks
from tenure.knowledge.store.schema import build_chunk_table_name
from tenure.knowledge.store.store import Store
from tenure.settings.knowledge import KnowledgeSettings
from tests.knowledge.word_vectors import WordVectors

WORDS = "flour water salt yeast oven crust starter"


def _write(folder: Path, name: str, *subjects: str) -> None:
    paragraphs = (f"{subject.capitalize()} is what this tells of: {WORDS} {WORDS} {WORDS}." for subject in subjects)
    (folder / name).write_text("\n\n".join(paragraphs), encoding="utf-8")


def _list_needed(uri: str, folder: Path, question: str) -> list[str]:
    """Return the subjects of the needed chunks of a folder."""
    model = WordVectors()
    knowledge = KnowledgeBase(uri, model, KnowledgeSettings(chunk_tokens=32, cold_start_chunks=0))
    for corpus in ("c", "other"):
        knowledge.corpora.ingest(IngestRequest(corpus=corpus, paths=(str(folder),)), lambda progress: None)
    needed = list_needed_chunks(Store(uri), model.dimensions, "c", question)
    rows = Store(uri).read_rows(build_chunk_table_name(model.dimensions), ["id", "text"], "corpus = 'c'").to_pylist()
    texts = {row["id"]: row["text"] for row in rows}
    return [texts[chunk].split()[0] for chunk in needed]


def test_chunks_with_the_words_come_first_then_what_is_beside_them_then_heads(tmp_path: Path, uri: str) -> None:
    """At last come the others of the document with the words; other corpora are left out."""
    (folder := tmp_path / "docs").mkdir()
    _write(folder, "a.md", "apples", "pears", "plums", "cherries", "grapes")
    _write(folder, "b.md", "roses", "tulips", "daisies")

    assert _list_needed(uri, folder, "What about the cherries?") == [
        *("Cherries", "Plums", "Grapes", "Apples", "Roses", "Pears"),
    ]


def test_number_of_needed_chunks_is_limited(tmp_path: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best chunks by words are kept."""
    monkeypatch.setattr(needed_chunks, "MAX_NEEDED_CHUNKS", 2)
    (folder := tmp_path / "docs").mkdir()
    _write(folder, "a.md", "apples", "pears", "plums", "cherries", "grapes")

    assert _list_needed(uri, folder, "What about the cherries?") == ["Cherries", "Plums"]


def test_question_without_a_known_word_needs_the_heads(tmp_path: Path, uri: str) -> None:
    """Without a passage that shares a word, the first chunks of the documents are needed."""
    (folder := tmp_path / "docs").mkdir()
    _write(folder, "a.md", "apples", "pears")

    assert _list_needed(uri, folder, "What about zebras?") == ["Apples"]
