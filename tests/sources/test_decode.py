"""Bytes to text."""

import pytest

from tenure.sources.decode import decode, is_binary
from tenure.sources.document import Unreadable

FRENCH = "Les élèves étaient très fatigués après la longue journée passée à l'école près de la forêt. " * 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_western_text_survives_its_encoding(encoding: str) -> None:
    """Whatever the encoding, with a byte order mark or without, the words come out."""
    assert decode(FRENCH.encode(encoding)) == FRENCH


def test_a_declared_encoding_is_believed() -> None:
    """A page that names its encoding is read in it, where UTF-8 does not fit."""
    page = '<meta charset="windows-1251"><p>Привет</p>'

    assert decode(page.encode("cp1251")) == page


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
