"""Tests of the RTF parser."""

import pytest

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers.formats.rtf import parse_rtf
from tests.architecture.text_functions import TextFunction

RTF = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}{\info{\title Hidden}}
\pard We {\b ship} on Friday, na\'efve \u8211 ? \u-10179?\u-8951?.\par
1.\tab one\par 2.\tab two\par
\pard\trowd a\cell b\cell\row{\*\unknown words}
\'95\tab bullet\par}"""
LIMIT = 10_000_000


def test_paragraphs_lists_and_rows_are_read() -> None:
    """Formats, fonts and unknown groups are no text; escapes are characters."""
    assert parse_rtf(RTF, LIMIT).text == ("We ship on Friday, naïve – 🔉.\n\n1. one\n2. two\n\n| a | b |\n\n- bullet")


def test_another_format_is_unreadable() -> None:
    """A file without the signature has a reason, and a truncated one is read as far as it goes."""
    with pytest.raises(Unreadable, match="is not a valid RTF document"):
        parse_rtf(b"words", LIMIT)
    assert parse_rtf(RTF[:120], LIMIT).text.startswith("We ship")


@pytest.mark.parametrize("piece", ["{", "}", r"\par ", r"\'e9", r"{\b a}", r"\u1234 ?", r"{\*\x a}", "a|\n", r"\bin9 "])
def test_time_grows_with_length(piece: str) -> None:
    """A document of one repeated piece is read in proportional time."""

    def read_rtf(text: str) -> Document:
        return parse_rtf(b"{\\rtf1 " + text.encode(), LIMIT)

    assert not TextFunction(read_rtf).is_slow(piece)
