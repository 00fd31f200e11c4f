"""Bytes to text."""

import pytest

from tenure.sources.document.decode import decode, is_binary
from tenure.sources.document.document import Unreadable

FRENCH = "Les élèves étaient très fatigués après la longue journée passée à l'école près de la forêt. " * 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_western_text_survives_its_encoding(encoding: str) -> None:
    """Whatever the encoding, with a byte order mark or without, the words come out."""
    assert decode(FRENCH.encode(encoding)) == FRENCH


def test_a_declared_encoding_is_believed() -> None:
    """A page that names its encoding is read in it, where UTF-8 does not fit."""
    page = '<meta charset="windows-1251"><p>Привет</p>'

    assert decode(page.encode("cp1251")) == page


def test_what_the_sender_says_comes_before_what_the_page_says() -> None:
    """A charset from outside is believed where UTF-8 does not fit, and if it does not fit either, the page is."""
    page = '<meta charset="windows-1251"><p>Привет'

    assert decode("Привет".encode("koi8-r"), "KOI8-R") == "Привет"
    assert decode(page.encode("cp1251"), "ascii ") != page
    assert decode(page.encode("cp1251"), "shift_jis") == page
    assert decode("Привет".encode(), "koi8-r") == "Привет"


def test_names_of_charsets_mean_what_they_mean_in_the_web() -> None:
    """Latin 1 has the quotation marks of Windows, and old Chinese names stand for all of Chinese."""
    assert decode(b"\x93quoted\x94 words", "iso-8859-1") == "“quoted” words"
    assert decode("國字镕".encode("gb18030"), "gb2312") == "國字镕"


@pytest.mark.parametrize("charset", ["idna", "unicode_escape", "hex", "zlib", "utf-7", "no\0name", "x" * 5000])
def test_what_is_no_charset_is_passed_over(charset: str) -> None:
    """A codec that is none of the web's is never run over a page."""
    text = "caf\\xe9 +AGE- 6162"

    assert decode(text.encode(), charset) == text
    assert decode(FRENCH.encode("latin-1"), charset) == FRENCH


def test_a_few_damaged_bytes_are_passed_over_in_any_charset() -> None:
    """One broken sign costs itself only, whatever the charset that was named."""
    text = "日本語の文章です。" * 50

    assert decode(b"\x81\xff" + text.encode("shift_jis"), "shift_jis").endswith(text)


def test_an_unknown_declared_encoding_is_passed_over() -> None:
    """A declaration nobody knows does not stop detection."""
    text = "# coding: no-such-thing\n" + FRENCH

    assert decode(text.encode("latin-1")) == text


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(256)) * 4, b"\x01\x02\x03\x04"])
def test_binary_data_is_refused(data: bytes) -> None:
    """Bytes that are no text say so."""
    assert is_binary(data)
    with pytest.raises(Unreadable, match="is a binary file"):
        decode(data)


def test_a_few_damaged_bytes_do_not_cost_the_document() -> None:
    """UTF-8 with a broken byte is read with a gap in its place, unless it is broken all over."""
    japanese = ("今日は天気がいいですね。明日も晴れるでしょう。" * 20).encode()

    assert decode(japanese[:301] + japanese[303:]).count("\ufffd") in range(1, 4)
    with pytest.raises(Unreadable, match="could not be decoded"):
        decode(japanese.replace("気".encode(), b"\xff\x81\x8d"))
