"""Bytes to text: byte order marks, UTF-8, UTF-16 without a mark, what somebody says, then what the bytes look like.

Bytes that are valid UTF-8 are UTF-8 whatever a server or the page itself says: chance hardly ever makes them so,
and servers are often wrong.
"""

import codecs
import re

from charset_normalizer import from_bytes

from tenure.sources.document.document import Unreadable

# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARATION = re.compile(rb"(?:charset|coding|encoding)[=:][ \t]*[\"']?([A-Za-z][\w.-]+)")
_SHIFTS = re.compile(rb"\x1b(?:\$[@B]|\([BJ])")
_WESTERN = "cp1252"
# Names mean in the web what old browsers took them for.
_MEANT = {
    **dict.fromkeys(("iso8859-1", "latin-1", "latin1", "ascii"), _WESTERN),
    **dict.fromkeys(("shift_jis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("euc_kr", "ks_c_5601-1987"), "cp949"),
    **{"iso8859-9": "cp1254", "tis-620": "cp874", "big5": "big5hkscs"},
}
# Python's codecs that are no charset of the web: they read escapes, unpack, or take time out of proportion.
_NO_CHARSETS = frozenset(
    "idna punycode unicode-escape raw-unicode-escape utf-7 undefined hex base64 bz2 zlib quopri uu rot-13".split()
)
_MAX_DAMAGED = 0.01
_SAMPLE = 65_536
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27})


def is_binary(data: bytes) -> bool:
    """Say whether the bytes are no text in any encoding, judged by their first 64 KiB."""
    head = data[:_SAMPLE]
    if any(head.startswith(mark) for mark, _ in _MARKS) or _unmarked_utf16(head):
        return False
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return b"\0" in head or controls > len(head) * 0.02


def decode(data: bytes, charset: str = "") -> str:
    """Return the text of the bytes; `charset` is what whoever sent them says they are written in.

    Raises:
        Unreadable: if they are binary, or no encoding fits them.
    """
    if is_binary(data):
        raise Unreadable("is a binary file")
    said = [name for name in (_codec(charset), _declared(data)) if name]
    for find in (_marked, lambda _: said[0] if said else None, lambda _: said[-1] if said else None, _guess):
        try:
            if encoding := find(data):
                return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    # Text with a few bytes damaged is still a document; nothing else comes out of this with so few gaps.
    for encoding in (*said, "utf-8"):
        text = data.decode(encoding, errors="replace")
        if text.count("\ufffd") <= len(text) * _MAX_DAMAGED:
            return text
    raise Unreadable("could not be decoded")


def _codec(charset: str) -> str | None:
    """Return Python's name for what a charset means in the web; None for one that is unknown or no charset."""
    label = charset.strip().lower()
    try:
        known = codecs.lookup(_MEANT.get(label, label)).name
    except (LookupError, ValueError):
        return None
    return None if known in _NO_CHARSETS else _MEANT.get(known, known)


def _marked(data: bytes) -> str:
    """Name the encoding that a byte order mark, NULs or shifts between alphabets give away; UTF-8 without any."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    shifted = "iso2022_jp" if _SHIFTS.search(data[:_SAMPLE]) and data.isascii() else None
    return marked or _unmarked_utf16(data[:_SAMPLE]) or shifted or "utf-8"


def _unmarked_utf16(head: bytes) -> str | None:
    """Name the UTF-16 whose high bytes are mostly NUL, as they are in western text."""
    pairs = len(head) // 2
    if pairs < 2 or b"\0" not in head:
        return None
    if head[1::2].count(0) > pairs * 0.7 and not head[0::2].count(0):
        return "utf-16-le"
    if head[0::2].count(0) > pairs * 0.7 and not head[1::2].count(0):
        return "utf-16-be"
    return None


def _declared(data: bytes) -> str | None:
    """Name the encoding that a page or a program says it is written in."""
    match = _DECLARATION.search(data[:1024])
    return _codec(match[1].decode("ascii")) if match else None


def _guess(data: bytes) -> str | None:
    matches = from_bytes(data[:_SAMPLE])
    best = matches.best()
    if best is None:
        return None
    # Western and central European code pages often fit equally well, and the western one is far more common.
    equals = [m for m in matches if (m.chaos, -m.coherence) <= (best.chaos, -best.coherence)]
    return _WESTERN if any(_WESTERN in m.could_be_from_charset for m in equals) else best.encoding
