"""Detect the character encoding of bytes, and decode them.

The order is: byte order mark, UTF-8, UTF-16 without a mark, declared encodings, UTF-8 mixed with Windows-1252 (as files
have that were joined or edited by two programs), detection. Bytes that are valid UTF-8
are decoded as UTF-8 whatever a server or page declares: other text is hardly ever valid UTF-8 by chance, and
declarations are often wrong.
"""

import codecs
import re
from typing import Final, NamedTuple

from charset_normalizer import from_bytes

from tenure.algorithms.text.counts import format_count
from tenure.sources.document.document import Unreadable

# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# '<meta charset="shift_jis">', "# -*- coding: latin-1 -*-", '<?xml version="1.0" encoding="utf-16"?>'.
_DECLARATION = re.compile(rb"(?:charset|coding|encoding)[=:][ \t]*[\"']?([A-Za-z][\w.-]+)")
_SHIFTS = re.compile(rb"\x1b(?:\$[@B]|\([BJ])")  # ESC $ B begins kanji, ESC ( B ends them.
_WESTERN = "cp1252"
# Charset names have the meaning of the WHATWG Encoding Standard.
_WEB_CHARSETS = {
    **dict.fromkeys(("iso8859-1", "latin-1", "latin1", "ascii"), _WESTERN),
    **dict.fromkeys(("shift_jis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("euc_kr", "ks_c_5601-1987"), "cp949"),
    **{"iso8859-9": "cp1254", "tis-620": "cp874", "big5": "big5hkscs"},
}
# Codecs of Python that are no charset: they read escapes, decompress, or have superlinear run time.
_UNSAFE_CODECS = frozenset(
    "idna punycode unicode-escape raw-unicode-escape utf-7 undefined hex base64 bz2 zlib quopri uu rot-13".split()
)
_MAX_REPLACED_SHARE = 0.01
_MIN_UTF8_SHARE: Final = 0.4
"""Share of valid UTF-8 among the characters beyond ASCII from which a text is UTF-8 with other bytes in it: by chance
the 125 pages of a manual have at most 0.34 in EUC-JP, 0.26 in GB 18030 and 0.15 in CP 866."""
_MIN_UTF8_SHARE_WESTERN: Final = 0.05
"""The same in a text that is detected as a code page of Europe, or as nothing; by chance German and French have at most
0.04."""
_LATIN: Final = frozenset((None, "cp1250", _WESTERN, "cp1254", "cp1257", "latin_1", "mac_roman"))
_STRAY: Final = re.compile("[\udc80-\udcff]")
"""A byte that is no UTF-8, as the error handler `surrogateescape` writes it."""
# Neither Latin nor punctuation: "\u07d3", as "\u00df\u201c" of Windows-1252 reads as UTF-8 in "Spa\u00df\u201c".
_FOREIGN: Final = re.compile("[\u0250-\u1fff\u20d0-\ud7ff\ue000-\U0010ffff]")
_MIN_FOREIGN: Final = 10
"""Valid characters from which other letters among them are no chance, as in a mixed text in Cyrillic."""
_SAMPLE_BYTES = 65_536
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27})


def is_binary(data: bytes) -> bool:
    """Return whether bytes are not text in any encoding, judged by the first 64 KiB."""
    head = data[:_SAMPLE_BYTES]
    if any(head.startswith(mark) for mark, _ in _MARKS) or _detect_unmarked_utf16(head):
        return False
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return b"\0" in head or controls > len(head) * 0.02


class DecodedText(NamedTuple):
    """Text with what is doubtful about it."""

    text: str
    damage: str = ""
    """Bytes that are read by a guess, or replaced, as in "was read with 2 damaged characters"; empty for none."""


def decode(data: bytes, charset: str = "") -> str:
    """Return the text of `decode_damaged`."""
    return decode_damaged(data, charset).text


def decode_damaged(data: bytes, charset: str = "") -> DecodedText:
    """Decode bytes; `charset` is the encoding that the sender declares.

    Raises:
        Unreadable: the bytes are binary, or fit no encoding.
    """
    if is_binary(data):
        raise Unreadable("is a binary file")
    declared = [name for name in (_normalize_charset(charset), _find_declaration(data)) if name]
    for encoding in (_detect_by_mark(data), *declared):
        try:
            return DecodedText(data.decode(encoding))
        except (UnicodeDecodeError, LookupError):
            continue
    guessed = _guess_charset(data)
    if mixed := _decode_mixed(data, is_western=guessed in _LATIN):
        return mixed
    if guessed is not None:
        try:
            return DecodedText(data.decode(guessed))
        except (UnicodeDecodeError, LookupError):
            pass
    # Text with a few damaged bytes is still a document; a wrong encoding would leave more replacement characters.
    for encoding in (*declared, "utf-8"):
        text = data.decode(encoding, errors="replace")
        replaced = text.count("\ufffd")
        if replaced <= len(text) * _MAX_REPLACED_SHARE:
            return DecodedText(text, f"was read with {format_count(replaced, 'damaged character')}")
    raise Unreadable("could not be decoded")


def _decode_mixed(data: bytes, *, is_western: bool) -> DecodedText | None:
    """Read a Latin text as UTF-8, and each byte that is none as Windows-1252; None for text in one encoding."""
    text = data.decode("utf-8", errors="surrogateescape")
    stray = len(_STRAY.findall(text))
    valid = len(text) - len(text.encode("ascii", "ignore")) - stray
    least = _MIN_UTF8_SHARE_WESTERN if is_western else _MIN_UTF8_SHARE
    is_chance = valid < _MIN_FOREIGN and _FOREIGN.search(text)
    if is_chance or valid < least * (valid + stray) or 2 * (valid + stray) > len(text):
        return None
    text = _STRAY.sub(lambda match: match[0].encode("utf-8", "surrogateescape").decode(_WESTERN, "replace"), text)
    return DecodedText(
        text,
        f"mixes UTF-8 with Windows-1252, in which {format_count(stray, 'character was', 'characters were')} written",
    )


def _normalize_charset(charset: str) -> str | None:
    """Return the codec of Python for a charset of the web, or None if it is unknown or unsafe."""
    label = charset.strip().lower()
    try:
        codec = codecs.lookup(_WEB_CHARSETS.get(label, label)).name
    except (LookupError, ValueError):
        return None
    return None if codec in _UNSAFE_CODECS else _WEB_CHARSETS.get(codec, codec)


def _detect_by_mark(data: bytes) -> str:
    """Return the encoding that a byte order mark, NUL bytes or escape sequences indicate; UTF-8 without any."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    shifted = "iso2022_jp" if _SHIFTS.search(data[:_SAMPLE_BYTES]) and data.isascii() else None
    return marked or _detect_unmarked_utf16(data[:_SAMPLE_BYTES]) or shifted or "utf-8"


def _detect_unmarked_utf16(head: bytes) -> str | None:
    """Return the variant of UTF-16 whose high bytes are mostly NUL, as in western text, or None."""
    pairs = len(head) // 2
    if pairs < 2 or b"\0" not in head:
        return None
    if head[1::2].count(0) > pairs * 0.7 and not head[0::2].count(0):
        return "utf-16-le"
    if head[0::2].count(0) > pairs * 0.7 and not head[1::2].count(0):
        return "utf-16-be"
    return None


def _find_declaration(data: bytes) -> str | None:
    match = _DECLARATION.search(data[:1024])
    return _normalize_charset(match[1].decode("ascii")) if match else None


def _guess_charset(data: bytes) -> str | None:
    matches = from_bytes(data[:_SAMPLE_BYTES])
    best = matches.best()
    if best is None:
        return None
    # Western and central European code pages often fit equally well, and the western one is far more common.
    equals = [m for m in matches if (m.chaos, -m.coherence) <= (best.chaos, -best.coherence)]
    return _WESTERN if any(_WESTERN in m.could_be_from_charset for m in equals) else best.encoding
