"""Tests of parsing responses of web servers."""

import json
from pathlib import Path

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.web_page import parse_page
from tests.sources.packages import make_epub, make_pptx, make_xlsx
from tests.sources.parsers.formats.test_docx import make_docx
from tests.sources.pdfs import make_pdf

ADDRESS = "https://www.example.org/some/page-one.html?x=1"
PAGE = b"<!doctype html><html><body><p>Some words of a page, caf\xc3\xa9 included.</p></body></html>"
NOTEBOOK = json.dumps({"cells": [{"cell_type": "markdown", "source": "# T"}]}).encode()


@pytest.mark.parametrize(
    ("body", "media_type", "address", "text"),
    [
        (PAGE, "text/html", ADDRESS, "Some words of a page, café included."),
        (PAGE, "", ADDRESS, "Some words of a page, café included."),
        (PAGE, "text/plain", "https://example.org/a.py", "Some words of a page, café included."),
        (b"words", "text/html", ADDRESS, "words"),
        (make_pdf([["Of a paper"]]), "text/html", ADDRESS, "Of a paper"),
        (b"# T\n\n*x*", "text/plain", "https://example.org/readme.md", "# T\n\nx"),
        (b"# T\n\n*x*", "text/markdown; charset", "https://example.org/readme", "# T\n\n*x*"),
        (b"# T\n\n*x*", "Text/Markdown", "https://example.org/v1.2", "# T\n\nx"),
        (NOTEBOOK, "application/json", "https://example.org/a.ipynb", "# T"),
        (b'{"a": 1}', "application/json", "https://example.org/v1.2", '{"a": 1}'),
        (b"<r>x</r>", "text/xml", "https://example.org/a", "<r>x</r>"),
        (b"<rss><channel><title>T</title></channel></rss>", "text/xml", "https://example.org/feed", "# T"),
        (b"<rss><channel><title>T</title></channel></rss>", "application/rss+xml", "https://example.org/", "# T"),
        (b"x = 1", "text/plain", "https://example.org/a.py", "x = 1"),
    ],
)
def test_signature_then_media_type_then_url_decide(body: bytes, media_type: str, address: str, text: str) -> None:
    """A response reaches its parser, even if its media type is vague or wrong."""
    assert parse_page(body, media_type, "", address).document.text == text


def test_packages_are_recognized_by_their_members(tmp_path: Path) -> None:
    """A download without a known suffix and media type is recognized by its content."""
    workbook = make_xlsx(tmp_path / "a.xlsx", one=[["n"], [1]]).read_bytes()
    titles = [
        parse_page(body, "application/octet-stream", "", "https://example.org/get").document.text.split("\n")[0]
        for body in (make_docx(), make_pptx(), make_epub(), workbook)
    ]

    assert titles == ["# Cover", "# First things", "# Chapter one", "# get.one"]


def test_tables_are_described() -> None:
    """A table from the web is described like one from a file, with a name from its URL."""
    page = parse_page(b"a,b\n1,2\n", "text/csv", "", "https://example.org/my%20data.csv?download")

    assert "The table my_data has 1 row and the columns a and b." in page.document.text
    assert page.document.title == "my data"


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("日本語の文章です。東京".encode("shift_jis"), "Shift_JIS"),
        ("日本語の文章です。東京".encode("iso2022_jp"), ""),
        ("日本語の文章です。東京".encode(), "iso-8859-1"),
        ("日本語の文章です。東京".encode("utf-16"), "utf-8"),
        ('<meta charset="euc-jp"><p>日本語の文章です。東京'.encode("euc_jp"), ""),
        ('<meta charset="euc-jp"><p>日本語の文章です。東京'.encode("euc_jp"), "no-such-charset"),
    ],
)
def test_charsets_come_from_marks_headers_pages_and_bytes(body: bytes, charset: str) -> None:
    """The order is: byte order mark, valid UTF-8, server, page."""
    assert parse_page(body, "text/html", charset, ADDRESS).document.text == "日本語の文章です。東京"


def test_the_title_of_a_page_defaults_to_its_url() -> None:
    """The last part of the path is the title, or the host if there is no path."""
    assert parse_page(b"words", "text/plain", "", ADDRESS).document.title == "page one"
    assert parse_page(b"words", "text/plain", "", "https://www.example.org/").document.title == "example.org"


def test_a_very_long_page_is_truncated() -> None:
    """A very long page is truncated at the end of a block, and marked."""
    page = parse_page(b"A paragraph of words.\n\n" * 50_000, "text/plain", "", "https://example.org/a.txt")

    assert page.is_truncated
    assert 400_000 < len(page.document.text) <= 500_000
    assert page.document.text.endswith("words.")
    one_block = b"A title\n=======\n\n" + b"x" * 600_000
    assert len(parse_page(one_block, "text/plain", "", "https://example.org/a.txt").document.text) == 500_000


@pytest.mark.parametrize(
    ("body", "media_type", "reason"),
    [
        (b" \n", "text/html", "is empty"),
        (b"<html></html>", "text/html", "has no text"),
        (b"<html>" + b"<div>" * 50_000 + b"x", "text/html", "is nested too deeply"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "application/octet-stream", "is a binary file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png", "is an image"),
        (b"%PDF-1.4 nothing of the kind", "text/html", "is not a valid PDF"),
        (b"x" * 50_000_001, "text/plain", "is larger than 50 MB"),
    ],
)
def test_unreadable_pages_have_a_reason(body: bytes, media_type: str, reason: str) -> None:
    """An unreadable response has a reason."""
    with pytest.raises(Unreadable) as caught:
        parse_page(body, media_type, "", ADDRESS)

    assert caught.value.reason == reason
