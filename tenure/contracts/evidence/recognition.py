"""Define the words that are recognized in pictures, and the places of quotes on pages."""

from typing import NamedTuple

from tenure.contracts.evidence.places import CellRange


class RecognizedWord(NamedTuple):
    """Word that was recognized in a picture; coordinates are shares of the width and height of its page."""

    start: int
    """Offset of its first character in the text of the document."""
    end: int
    page: int
    """Page, from 1; 0 in a picture of a document without pages."""
    left: float
    top: float
    right: float
    bottom: float
    confidence: float
    """Confidence of the model, from 0 to 1."""


class PagePlace(NamedTuple):
    """Place of a quote on a page."""

    page: int
    """Page, from 1."""
    quote: str
    share: float
    """Share of the text of the page that precedes the quote, by which equal words are distinguished."""
    words: tuple[RecognizedWord, ...] = ()
    """Recognized words of the quote on the page; empty for a page with a text layer."""


class SheetPlace(NamedTuple):
    """Place of a quote in a sheet."""

    cells: CellRange
    header: int
    """Row that names the columns, or the first row of a table without names."""
