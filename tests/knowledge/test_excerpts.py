"""Test the reading of passages and parts of sources for readers."""

from collections.abc import Sequence

import pytest

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.corpora import CorpusRequest, TextRange
from tenure.contracts.evidence.passages import PassageRef
from tenure.knowledge.corpora import Corpora
from tenure.knowledge.excerpts import (
    CONTEXT_CHARS,
    MAX_RANGE_CHARS,
    MAX_TEXT_CHARS,
    read_stored_passages,
)
from tenure.knowledge.store.catalogue import SourceRecord

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


@pytest.mark.parametrize(("source", "start", "end"), [("lost", 0, 5), ("book", 5, 5), ("book", 0, len(LONG) + 1)])
def test_what_is_not_stored_is_left_out(source: str, start: int, end: int) -> None:
    """A deleted source, an empty range and one beyond the end give nothing."""
    assert read_stored_passages(Shelf(), read_range(SourceId(source), start, end)) == ()
