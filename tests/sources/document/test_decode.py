"""Tests of encoding detection."""

import pytest

from tenure.sources.document.decode import decode, decode_damaged, is_binary
from tenure.sources.document.document import Unreadable

FRENCH = "Les élèves étaient très fatigués après la longue journée passée à l'école près de la forêt. " * 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_western_text_is_decoded(encoding: str) -> None:
    """Text is decoded in any encoding, with or without a byte order mark."""
    assert decode(FRENCH.encode(encoding)) == FRENCH


def test_a_declared_encoding_is_used() -> None:
    """The declaration of a page is used if its bytes are not valid UTF-8."""
    page = '<meta charset="windows-1251"><p>Привет</p>'

    assert decode(page.encode("cp1251")) == page


def test_the_charset_of_the_sender_precedes_the_declaration() -> None:
    """The charset of the sender is used before the declaration of the page if the bytes are not valid UTF-8."""
    page = '<meta charset="windows-1251"><p>Привет'

    assert decode("Привет".encode("koi8-r"), "KOI8-R") == "Привет"
    assert decode(page.encode("cp1251"), "ascii ") != page
    assert decode(page.encode("cp1251"), "shift_jis") == page
    assert decode("Привет".encode(), "koi8-r") == "Привет"


def test_charset_names_have_their_meaning_of_the_web() -> None:
    """Latin-1 includes the quotation marks of Windows-1252, and GB 2312 is decoded as GB 18030."""
    assert decode(b"\x93quoted\x94 words", "iso-8859-1") == "“quoted” words"
    assert decode("國字镕".encode("gb18030"), "gb2312") == "國字镕"


@pytest.mark.parametrize("charset", ["idna", "unicode_escape", "hex", "zlib", "utf-7", "no\0name", "x" * 5000])
def test_codecs_that_are_no_charset_are_ignored(charset: str) -> None:
    """A codec of Python that is no charset of the web is never used."""
    text = "caf\\xe9 +AGE- 6162"

    assert decode(text.encode(), charset) == text
    assert decode(FRENCH.encode("latin-1"), charset) == FRENCH


def test_damaged_bytes_are_replaced_in_any_charset() -> None:
    """One damaged character is replaced, in any declared charset."""
    text = "日本語の文章です。" * 50

    assert decode(b"\x81\xff" + text.encode("shift_jis"), "shift_jis").endswith(text)


def test_an_unknown_declared_encoding_is_ignored() -> None:
    """An unknown declaration does not stop the detection."""
    text = "# coding: no-such-thing\n" + FRENCH

    assert decode(text.encode("latin-1")) == text


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(256)) * 4, b"\x01\x02\x03\x04"])
def test_binary_data_is_refused(data: bytes) -> None:
    """Binary data is unreadable."""
    assert is_binary(data)
    with pytest.raises(Unreadable, match="is a binary file"):
        decode(data)


def test_a_few_damaged_bytes_do_not_make_a_document_unreadable() -> None:
    """A damaged byte of UTF-8 is replaced, unless the whole text is damaged."""
    japanese = ("今日は天気がいいですね。明日も晴れるでしょう。" * 20).encode()

    assert decode(japanese[:301] + japanese[303:]).count("\ufffd") in range(1, 4)
    with pytest.raises(Unreadable, match="could not be decoded"):
        decode(japanese.replace("気".encode(), b"\xff\x81\x8d"))


@pytest.mark.parametrize("western_lines", [2, 10, 18])
def test_a_mixture_of_utf8_and_windows_1252_is_read_whole(western_lines: int) -> None:
    """Lines of both encodings are read as such, also if most are Windows-1252, and the mixture is named."""
    lines = [f"Die Straße nach Köln führt über “{n}” Brücken." for n in range(20)]
    data = b"\n".join(line.encode("cp1252" if n < western_lines else "utf-8") for n, line in enumerate(lines))

    text, damage = decode_damaged(data)

    assert text.split("\n") == lines
    assert damage == f"mixes UTF-8 with Windows-1252, in which {7 * western_lines} characters were written"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "cp1252"),
        ("Er rief: „Das macht Spaß“ und ging über die Straße.", "cp1252"),
        ("Im CAFÉ’s gibt es „Tee“ und Gebäck.", "cp1252"),
        ("配置数据库连接后重新启动服务。" * 20, "gb18030"),
        ("설정을 확인하고 서버를 다시 시작합니다. " * 20, "cp949"),
    ],
)
def test_a_text_in_one_legacy_encoding_is_no_mixture(text: str, encoding: str) -> None:
    """Sequences that are valid UTF-8 by chance do not make a text a mixture."""
    assert decode_damaged(text.encode(encoding)) == (text, "")
