"""Tests of the EPUB parser."""

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.epub import parse_epub
from tests.sources.packages import LAUGHS, OPF, make_epub, pack_zeros, package

LIMIT = 10_000_000


def test_chapters_have_their_reading_order() -> None:
    """The spine defines the order; a missing chapter and a hidden paragraph are skipped."""
    document = parse_epub(make_epub(), LIMIT)

    assert document.text == "# Chapter one\n\nIt was late, déjà.\n\n# Chapter two\n\nEnd."
    assert (document.title, document.author, document.published) == ("A book", "Ann Lee, Bo Ek", "2024-05-06")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no package at all", "is not a valid EPUB"),
        (make_epub()[:600], "is not a valid EPUB"),
        (package(mimetype="application/epub+zip"), "is not a valid EPUB"),
        (make_epub("<package"), "is not a valid EPUB"),
        (make_epub(OPF.replace("<package", f"{LAUGHS}<package").replace("A book", "&e;")), "is not a valid EPUB"),
        (make_epub(**{"META-INF__rights.xml": "<rights/>"}), "is encrypted"),
    ],
)
def test_unreadable_files_have_a_reason(data: bytes, reason: str) -> None:
    """Protected and damaged files are unreadable, each with its reason."""
    with pytest.raises(Unreadable) as caught:
        parse_epub(data, LIMIT)

    assert caught.value.reason == reason


def test_an_exploding_file_is_unreadable() -> None:
    """The content is measured before it is unpacked."""
    with pytest.raises(Unreadable, match="unpacks to far more than a document"):
        parse_epub(pack_zeros(LIMIT * 10 + 1), LIMIT)
