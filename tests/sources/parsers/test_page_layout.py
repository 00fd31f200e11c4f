"""Tests of the reading order of a page."""

from typing import NamedTuple

from tenure.sources.parsers.formats.pdf import parse_pdf
from tenure.sources.parsers.page_layout import split_columns
from tests.sources.pdfs import SENTENCES, typeset


class PlacedText(NamedTuple):
    left: float
    middle: float
    text: str
    width: float = 400

    @property
    def right(self) -> float:
        return self.left + self.width


def test_columns_of_prose_are_read_one_after_the_other() -> None:
    """A title across both columns comes first; the columns follow, from the left."""
    title = PlacedText(0, 0, "A title across both columns", 900)
    left = [PlacedText(0, 40 + 30 * n, f"line {n} of the left column of prose") for n in range(5)]
    right = [PlacedText(500, 40 + 30 * n, f"line {n} of the right column of prose") for n in range(5)]
    blocks = split_columns([title, *[box for pair in zip(left, right, strict=True) for box in pair]])

    assert blocks == [[title], left, right]


def test_a_mark_in_the_margin_is_no_column() -> None:
    """The gap between a stamp in the margin and the columns, which no line crosses, hides not the one between them."""
    stamp = [PlacedText(-300, 200, "arXiv", 40)]
    title = PlacedText(0, 0, "A title across both columns", 900)
    left = [PlacedText(0, 40 + 30 * n, f"line {n} of the left column of prose") for n in range(8)]
    right = [PlacedText(420, 40 + 30 * n, f"line {n} of the right column of prose") for n in range(8)]
    blocks = split_columns([*stamp, title, *[box for pair in zip(left, right, strict=True) for box in pair]])

    assert [[box for box in block if box not in stamp] for block in blocks] == [[title], left, right]


def test_a_sentence_continues_in_the_next_column() -> None:
    """A sentence that continues in the next column is whole, and the title across both columns comes first."""
    prose = " ".join(SENTENCES * 4)
    body = f"#align(center)[#text(16pt)[Bees of the County]]\n#columns(2, gutter: 0.5cm)[{prose}]"
    text = parse_pdf(typeset(body, "#set par(justify: true)")).text

    assert text.startswith("# Bees of the County\n\n")
    assert text.count("counted every colony twice a week. A second survey") == 4
