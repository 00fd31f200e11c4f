"""Tests of the PPTX parser."""

import io
from bisect import bisect_right

import pptx
import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.pptx import parse_pptx
from tests.sources.packages import change_type, make_pptx, make_rich_pptx, pack_zeros, package

LIMIT = 10_000_000


def test_slides_become_sections_and_pages() -> None:
    """Titles, lists, notes, tables, the data of charts and grouped texts are parsed, and slides have page numbers."""
    document = parse_pptx(make_pptx(), LIMIT)

    assert document.text == (
        "# First things\n\n- one\n  - deep\n- two\n\nSay it slowly.\n\n"
        "# Slide 2\n\n| 00 | 01 |\n| 10 | 11 |\n\n|  | Sales |\n| 2024 | 1.5 |\n| 2025 | 2 |\n\nA caption\n\n# The end"
    )
    assert (document.title, document.author) == ("A talk", "Ann Lee")
    starts = [document.text[start:].split("\n")[0] for start in document.pages]
    assert starts == ["# First things", "# Slide 2", "# The end"]
    assert bisect_right(document.pages, document.text.index("Sales")) == 2


@pytest.mark.parametrize(
    "kind",
    [
        "vnd.ms-powerpoint.slideshow.macroEnabled",
        "vnd.openxmlformats-officedocument.presentationml.slideshow",
        "vnd.ms-powerpoint.template.macroEnabled",
    ],
)
def test_shows_and_templates_are_read(kind: str) -> None:
    """They differ from a presentation by the type of their main part alone."""
    plain = "vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
    assert parse_pptx(change_type(make_pptx(), plain, f"{kind}.main+xml"), LIMIT).text == (
        parse_pptx(make_pptx(), LIMIT).text
    )


def test_diagrams_comments_and_titles_of_charts_are_read() -> None:
    """The texts of a diagram are a part of their own, as comments are, and numbers of a chart keep their digits."""
    document = parse_pptx(make_rich_pptx(), LIMIT)

    assert document.text == (
        "# Slide 1\n\n- Plan the work\n- Do it\n\nSales by day\n\n"
        "|  | Sales |\n| 2026-01-02 | 23500000 |\n| 2026-01-03 | 0.5 |\n\n"
        "|  | Weight |\n| 1.5 | 7 |\n\nComment: Is this still true?"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "is in the old binary PowerPoint format"),
        (b"no package at all", "is not a valid presentation"),
        (make_pptx()[:9000], "is not a valid presentation"),
        (package(a=b"x"), "is not a valid presentation"),
    ],
)
def test_unreadable_files_have_a_reason(data: bytes, reason: str) -> None:
    """Old and damaged files are unreadable, each with its reason."""
    with pytest.raises(Unreadable) as caught:
        parse_pptx(data, LIMIT)

    assert caught.value.reason == reason


def test_a_presentation_without_words_has_no_text() -> None:
    """The numbers of slides are no text."""
    made = pptx.Presentation()
    for _ in range(2):
        made.slides.add_slide(made.slide_layouts[6])
    buffer = io.BytesIO()
    made.save(buffer)

    with pytest.raises(Unreadable, match="has no text"):
        parse_pptx(buffer.getvalue(), LIMIT)


def test_an_exploding_file_is_unreadable() -> None:
    """The content is measured before it is unpacked."""
    with pytest.raises(Unreadable, match="unpacks to far more than a document"):
        parse_pptx(pack_zeros(LIMIT * 10 + 1), LIMIT)
