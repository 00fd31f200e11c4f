"""Tests of the PDF parser."""

from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats import pdf
from tenure.sources.parsers.formats.pdf import parse_pdf
from tests.sources.pdfs import make_pdf

RUNNING_HEAD = "Annual Review of Tests"
PAGES = [
    [
        RUNNING_HEAD,
        "Introduction",
        "The quick brown fox jumps over the lazy dog and then goes on to do some-",
        "thing else entirely, on a well-known note about something and about well-",
        "known things. It ends.",
        "A second paragraph begins after a short line and runs on for quite a while",
        "1",
    ],
    [RUNNING_HEAD, "until it ends on the next page (as paragraphs do).", "• first point", "• second point", "2"],
    [RUNNING_HEAD, "Method", "The last page.", "Page 3 of 3"],
]
INFO = "/Title (A Study) /Author (Ann Lee) /CreationDate (D:20240305101010Z)"


def test_lines_become_paragraphs_without_page_furniture() -> None:
    """Lines are joined across pages, hyphens rejoined or kept, and heads and page numbers removed."""
    document = parse_pdf(make_pdf(PAGES, INFO, ["1. Introduction", "Method"]))

    assert document.text == (
        "# Introduction\n\n"
        "The quick brown fox jumps over the lazy dog and then goes on to do something else entirely, on a well-known "
        "note about something and about well-known things. It ends.\n\n"
        "A second paragraph begins after a short line and runs on for quite a while until it ends on the next page "
        "(as paragraphs do).\n\n"
        "- first point\n- second point\n\n# Method\n\nThe last page."
    )
    assert (document.title, document.author, document.published) == ("A Study", "Ann Lee", "2024-03-05")


def test_a_title_that_is_a_file_name_is_ignored() -> None:
    """Default titles of word processors are ignored; the date may be incomplete."""
    document = parse_pdf(make_pdf([["Words."]], "/Title (Microsoft Word - draft.doc) /CreationDate (D:2024)"))

    assert (document.title, document.published) == ("", "2024")


def test_the_only_page_keeps_its_numbers() -> None:
    """A number at the end of a single page is not a page number."""
    assert parse_pdf(make_pdf([["The answer is", "42"]])).text.endswith("42")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (make_pdf(PAGES, encrypted=True), "is encrypted"),
        (make_pdf([[]]), "has no text"),
        (b"%PDF-1.4 nothing of the kind", "is not a valid PDF"),
        (make_pdf(PAGES)[:200], "is not a valid PDF"),
    ],
)
def test_unreadable_files_have_a_reason(data: bytes, reason: str) -> None:
    """Encrypted, scanned and damaged files are unreadable, each with its reason."""
    with pytest.raises(Unreadable) as caught:
        parse_pdf(data)

    assert caught.value.reason == reason


def test_parsing_is_thread_safe() -> None:
    """Many threads get the same text, although pdfium itself is not thread-safe."""
    data = make_pdf(PAGES)
    with ThreadPoolExecutor(4) as pool:
        texts = {document.text for document in pool.map(parse_pdf, [data] * 24)}

    assert len(texts) == 1


def test_running_heads_with_page_numbers_may_change_with_the_chapter() -> None:
    """A head that recurs with its number on three pages is removed, and the text below it is kept."""
    chapters = [
        [f"{title} {n}", f"Start {chr(96 + n)}", "Body.", f"More {chr(96 + n)}", f"End {chr(96 + n)}"]
        for n, title in enumerate(["One"] * 3 + ["Two"] * 5, 1)
    ]
    text = parse_pdf(make_pdf(chapters)).text

    assert "One 2" not in text
    assert "Two 5" not in text
    assert text.count("Body") == 8


def test_a_numbered_heading_is_found_in_an_outline_without_numbers() -> None:
    """Outline and page may disagree about the number of a section."""
    assert (
        "# 2.4 Library notes" in parse_pdf(make_pdf([["2.4 Library notes", "Text."]], outline=["Library Notes"])).text
    )


def test_pages_have_offsets_in_the_text() -> None:
    """Each page has an offset, even if it starts inside a paragraph or is empty."""
    document = parse_pdf(
        make_pdf([*PAGES[:2], [], PAGES[2], ["• an item that", "ends"]], INFO, ["1. Introduction", "Method"])
    )
    starts = [document.text[start : start + 6] for start in document.pages]

    assert starts == ["Introd", "until ", "Method", "Method", "- an i"]
    assert [
        bisect_right(document.pages, document.text.index(words)) for words in ("quick", "ends on", "Method", "item")
    ] == [
        1,
        2,
        4,
        5,
    ]
    assert bisect_right(document.pages, len(document.text)) == 5


def test_a_long_file_is_read_without_layout_from_a_page_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text beyond the number of characters whose places are read is kept, and the page is named."""
    monkeypatch.setattr(pdf, "_MAX_PLACED_CHARACTERS", 10)
    document = parse_pdf(make_pdf([["Words."], ["More words."], ["The end."]]))

    assert [word in document.text for word in ("Words.", "More words.", "The end.")] == [True] * 3
    assert document.unread.startswith("was read without columns and tables on page 2 and later pages")
