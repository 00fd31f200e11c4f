"""Tests of the places of words and lines."""

import pypdfium2
import pytest

from tenure.sources.parsers.pdf_page import PdfPage
from tests.sources.pdfs import typeset

TABLE = "#table(columns: 2, [Station], [Honey], [Moor], [140], [Hill], [82])"


@pytest.mark.parametrize("angle", [0, -90, 90, 180])
def test_a_turned_page_is_read_level(angle: int) -> None:
    """Words and ruled lines of a page that lies on its side are placed as on an upright one."""
    [page] = pypdfium2.PdfDocument(typeset(f"#rotate({angle}deg, reflow: true)[{TABLE}]"))
    read = PdfPage(page)
    words = {word.text: word for word in read.read_words()}
    rules = read.read_rules()

    assert words["Station"].right < words["Honey"].left
    assert words["Station"].bottom <= words["Moor"].top < words["Hill"].top
    assert abs(words["Moor"].top - words["140"].top) < 1
    assert len({round(rule.position) for rule in rules.horizontal}) == 4
    assert len({round(rule.position) for rule in rules.vertical}) == 3


def test_words_on_their_side_are_whole() -> None:
    """The name of an axis is one word that is marked, and does not become a column of letters."""
    [page] = pypdfium2.PdfDocument(typeset("Honey of the year, by station\n#rotate(-90deg, reflow: true)[Kilograms]"))

    assert [(word.text, word.is_turned) for word in PdfPage(page).read_words()][-2:] == [
        ("station", False),
        ("Kilograms", True),
    ]


def test_bold_words_are_told() -> None:
    """The weight of the type is known for each word."""
    [page] = pypdfium2.PdfDocument(typeset("plain *bold*"))
    read = PdfPage(page)

    assert [read.is_bold(word) for word in read.read_words()] == [False, True]
