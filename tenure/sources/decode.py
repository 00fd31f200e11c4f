"""Bytes to text: byte order marks, UTF-8, UTF-16 without a mark, then whatever the bytes look like."""

import codecs
import re

from charset_normalizer import from_bytes

from tenure.sources.document import Unreadable

# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARATION = re.compile(rb"(?:charset|coding|encoding)[=:][ \t]*[\"']?([A-Za-z][\w.-]+)")
_WESTERN = "cp1252"
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


def decode(data: bytes) -> str:
    """Return the text of the bytes.

    Raises:
        Unreadable: if they are binary, or no encoding fits them.
    """
    if is_binary(data):
        raise Unreadable("is a binary file")
    for find in (_marked, _declared, _guess):
        try:
            if encoding := find(data):
                return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    # UTF-8 with a few bytes damaged is still a document; nothing else comes out of this with so few gaps.
    text = data.decode("utf-8", errors="replace")
    if text.count("\ufffd") > len(text) * _MAX_DAMAGED:
        raise Unreadable("could not be decoded")
    return text


def _marked(data: bytes) -> str:
    """Name the encoding that a byte order mark or the pattern of NULs gives away; UTF-8 without either."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    return marked or _unmarked_utf16(data[:_SAMPLE]) or "utf-8"


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
    return match[1].decode("ascii") if match else None


def _guess(data: bytes) -> str | None:
    matches = from_bytes(data[:_SAMPLE])
    best = matches.best()
    if best is None:
        return None
    # Western and central European code pages often fit equally well, and the western one is far more common.
    equals = [m for m in matches if (m.chaos, -m.coherence) <= (best.chaos, -best.coherence)]
    return _WESTERN if any(_WESTERN in m.could_be_from_charset for m in equals) else best.encoding
