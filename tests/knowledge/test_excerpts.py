"""Test the reading of passages and parts of sources for readers."""

import base64
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.corpora import CorpusRequest, IngestRequest, StoredPassage, TextRange
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.corpora import Corpora
from tenure.knowledge.excerpts import (
    CONTEXT_CHARS,
    MAX_RANGE_CHARS,
    MAX_TEXT_CHARS,
    read_stored_passages,
)
from tenure.knowledge.store.catalogue import SourceRecord
from tests.knowledge.word_vectors import WordVectors
from tests.sources.packages import make_pptx, make_xlsx
from tests.sources.pdfs import make_pdf

BOOK = SourceId("book")
LONG = "a" * 10_000 + "b" * 10_000


class Shelf(Corpora):
    """One source of three pages, with one passage."""

    def __init__(self) -> None:
        pass

    def load_passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        return tuple(Passage(ref.chunk, ref.source, "Book", "/book.txt", (), LONG, 0, len(LONG)) for ref in refs)

    def load_sources(self, ids: Sequence[SourceId]) -> dict[SourceId, SourceRecord]:
        book = SourceRecord(BOOK, "/book.txt", "Book", "", "", "", "prose", LONG, pages=(0, 9_990, 15_000))
        return {one: book for one in ids if one == BOOK}


def read_range(source: SourceId, start: int, end: int) -> CorpusRequest:
    return CorpusRequest(action="read", range=TextRange(source=source, start=start, end=end))


def test_a_part_has_the_text_around_it_and_its_page() -> None:
    """The text before, within and after the range is the stored one, cut to the maximum lengths."""
    (found,) = read_stored_passages(Shelf(), read_range(BOOK, 9_990, 10_010))

    assert (found.text, found.page, found.uri) == ("a" * 10 + "b" * 10, 2, "/book.txt")
    assert (found.before, found.after) == ("a" * CONTEXT_CHARS, "b" * CONTEXT_CHARS)


def test_long_texts_are_cut() -> None:
    """Neither a passage nor a part of a source exceeds its maximum length."""
    ref = PassageRef(chunk=ChunkId("c"), source=BOOK, score=1.0, relevance=1.0)
    (passage,) = read_stored_passages(Shelf(), CorpusRequest(action="read", passages=(ref,)))
    (part,) = read_stored_passages(Shelf(), read_range(BOOK, 0, len(LONG)))

    assert (len(passage.text), passage.chunk) == (MAX_TEXT_CHARS, "c")
    assert (len(part.text), len(part.before), len(part.after)) == (MAX_RANGE_CHARS, 0, CONTEXT_CHARS)


def test_the_page_of_a_part_is_drawn_as_long_as_the_file_is_the_one_that_was_read(tmp_path: Path) -> None:
    """A page of a PDF is a picture on request; a changed file has a reason, and a file without pages neither."""
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "bread.pdf"
    file.write_bytes(make_pdf([["Rye needs six hours."], ["Wheat needs two hours."]]))
    (tmp_path / "docs" / "bread.md").write_text("Spelt needs four hours.", encoding="utf-8")
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(tmp_path / "docs"),)), lambda progress: None)

    def read(words: str) -> StoredPassage:
        found = knowledge.retrieval.search(SearchRequest(query=words, corpora=("c",), k=1)).passages
        (source,) = knowledge.corpora.load_sources([found[0].source]).values()
        start = source.text.index(words)
        part = TextRange(source=source.id, start=start, end=start + len(words), with_picture=True)
        return read_stored_passages(knowledge.corpora, CorpusRequest(action="read", range=part))[0]

    drawn = read("Wheat needs two hours.")
    assert (drawn.page, drawn.no_picture, base64.b64decode(drawn.picture)[8:12]) == (2, "", b"WEBP")
    assert (read("Spelt needs four hours.").picture, read("Spelt needs four hours.").no_picture) == ("", "")
    file.write_bytes(make_pdf([["Rye needs six hours."], ["Wheat needs nine hours."]]))
    changed = read("Wheat needs two hours.")
    assert (changed.picture, changed.no_picture) == ("", "has changed since it was read")
    with zipfile.ZipFile(tmp_path / "docs" / "all.zip", "w") as archive:
        archive.writestr("oats.pdf", make_pdf([["Oats need one hour."]]))
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(tmp_path / "docs"),)), lambda progress: None)
    packed = read("Oats need one hour.")
    assert (packed.picture, packed.no_picture) == ("", "is in an archive")


def test_slides_and_cells_are_shown(tmp_path: Path) -> None:
    """A slide is drawn, the cells around a quote of a sheet are read, and a changed workbook has a reason."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "talk.pptx").write_bytes(make_pptx())
    book = make_xlsx(tmp_path / "docs" / "costs.xlsx", Costs=[["Item", "Price"], ["Rye bread", 4], ["Oat bread", 2]])
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(tmp_path / "docs"),)), lambda progress: None)

    def read(words: str) -> StoredPassage:
        found = knowledge.retrieval.search(SearchRequest(query=words, corpora=("c",), k=4)).passages
        sources = knowledge.corpora.load_sources([passage.source for passage in found]).values()
        source = next(source for source in sources if words in source.text)
        start = source.text.index(words)
        part = TextRange(source=source.id, start=start, end=start + len(words), with_picture=True)
        return read_stored_passages(knowledge.corpora, CorpusRequest(action="read", range=part))[0]

    slide, cells, columns = read("Say it slowly."), read("| Oat bread | 2 |"), read("has 2 rows and the columns")

    assert (slide.page, slide.picture_type, slide.window) == (1, "image/svg+xml", None)
    assert base64.b64decode(slide.picture).startswith(b"<svg")
    assert cells.window is not None and cells.picture == ""
    assert (cells.window.label, cells.window.rows[0].cells) == ("sheet Costs, cells A3:B3", ("Item", "Price"))
    assert (columns.window, columns.no_picture) == (None, "")
    make_xlsx(book, Costs=[["Item", "Price"], ["Oat bread", 3]])
    assert read("| Oat bread | 2 |").no_picture == "has changed since it was read"


@pytest.mark.parametrize(("source", "start", "end"), [("lost", 0, 5), ("book", 5, 5), ("book", 0, len(LONG) + 1)])
def test_what_is_not_stored_is_left_out(source: str, start: int, end: int) -> None:
    """A deleted source, an empty range and one beyond the end give nothing."""
    assert read_stored_passages(Shelf(), read_range(SourceId(source), start, end)) == ()
