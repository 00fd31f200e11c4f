"""Tests of the writer of pages."""

import time

import pytest

from tenure.sources.parsers.page_lines import (
    MAX_PARAGRAPH_CHARACTERS,
    PageLine,
    WordBox,
    describe_unread,
    write_pages,
)


def make_line(text: str, confidence: float = 0.9) -> PageLine:
    words, offset = [], 0
    for word in text.split():
        offset = text.index(word, offset)
        words.append(WordBox(offset, word, 0.1, 0.2, 0.3, 0.4, confidence))
        offset += len(word)
    return PageLine(text, tuple(words))


def test_recognized_words_keep_their_places_in_the_text() -> None:
    """Words are found at their offsets, across joined lines, list marks, headings and removed margins."""
    pages = [
        ["Running head", "Method", "The first line of the page is long enough to be con-", "tinued here."],
        ["Running head", "• an item of a list", "2"],
        ["Running head", "The end."],
    ]
    document = write_pages([[make_line(text) for text in page] for page in pages], {"method": 1})

    assert document.text == (
        "# Method\n\nThe first line of the page is long enough to be continued here.\n\n- an item of a list\n\nThe end."
    )
    words = [(document.text[word.start : word.end], word.page) for word in document.words]
    assert words[:3] == [("Method", 1), ("The", 1), ("first", 1)]
    assert words[-7:] == [("an", 2), ("item", 2), ("of", 2), ("a", 2), ("list", 2), ("The", 3), ("end.", 3)]


def test_pages_that_were_not_read_are_named() -> None:
    """Some pages are named, the others counted."""
    assert describe_unread([], "no time") == ""
    assert describe_unread([3], "no time") == "was read without the scanned page 3: no time"
    assert describe_unread(range(1, 10_001), "no time") == (
        "was read without the scanned pages 1, 2, 3, 4, 5 and 9995 more: no time"
    )


@pytest.mark.parametrize(
    "line", ["Rye dough rises for six hours in a warm kitchen.", "rye dough rises for six hours in"]
)
def test_lines_without_an_end_of_a_paragraph_are_read_in_linear_time(line: str) -> None:
    """Lines of equal length become long paragraphs, and each line is joined without reading all of them again."""
    started = time.process_time()
    document = write_pages([[PageLine(f"{number} {line}") for number in range(40)]] * 500)

    assert time.process_time() - started < 5  # 0.3 s; with the whole paragraph read for each line 600 s
    assert document.text.count(line) == 18_000  # without four lines of each page that look like its heads and feet
    assert max(map(len, document.text.split("\n\n"))) < 2.1 * MAX_PARAGRAPH_CHARACTERS


def test_records_of_a_page_each_are_no_running_heads() -> None:
    """Pages that would lose all of their lines as running heads keep them, with their numbers."""
    records = [[make_line(f"Lot {number} was sold.")] for number in range(9)]
    document = write_pages([[make_line("The register of lots.")], *records])

    assert "Lot 8 was sold." in document.text
    assert len(document.pages) == 10
