"""Split mailboxes in the format mbox into messages, one file each, as mail programs and exports of accounts write them.

A reply whose parent is in the mailbox is marked, so that its parser does not repeat the words of the parent.
"""

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import IO, Final

from tenure.sources.document.decode import decode
from tenure.sources.document.document import Unreadable
from tenure.sources.document.normal_form import collapse_whitespace

PARENT_HEADER: Final = "X-Tenure-Parent"
"""Header that the reader of a mailbox adds to a reply if the mailbox contains the message that it answers."""

# "From ann@a.example Fri May  3 10:22:00 2024", but not "From 10 to 12, we test." in a message.
_SEPARATOR: Final = re.compile(rb"From [^\n]{0,300}\d\d:\d\d:\d\d")
_QUOTED_SEPARATOR: Final = re.compile(rb">+From ")  # A line "From " of a message is written as ">From ".
_MESSAGE_ID: Final = re.compile(r"<[^<>\s]{1,500}>")  # "<2@a.example>".
_UNSAFE: Final = re.compile(r"[^\w.,()&'+ -]+")  # Characters of a subject that are not used in the name of a file.
_MAX_HEADER_LENGTH: Final = 2_000
_MAX_LINE_BYTES: Final = 1 << 20
_MAX_SUBJECT_LENGTH: Final = 50
_DIGITS: Final = 6
"""Digits of a hash by which messages of one day and subject differ."""


def iterate_messages(file: IO[bytes], max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield the messages of a mailbox with their file names; one of more than `max_bytes` is cut.

    Raises:
        Unreadable: the file does not begin with a message.
    """
    known: set[str] = set()
    names: set[str] = set()
    for data in _split(file, max_bytes):
        headers = message_from_bytes(data.replace(b"\r\n", b"\n").partition(b"\n\n")[0])
        answered = _MESSAGE_ID.findall(read_header(headers, "in-reply-to"))[:1]
        answered = answered or _MESSAGE_ID.findall(read_header(headers, "references"))[-1:]
        identifier = read_header(headers, "message-id")
        subject = _UNSAFE.sub(" ", read_header(headers, "subject"))[:_MAX_SUBJECT_LENGTH]
        digest = hashlib.sha256(identifier.encode() or data).hexdigest()[:_DIGITS]
        day = _UNSAFE.sub(" ", format_date(read_header(headers, "date"), with_time=False))[:10]
        name = " ".join(f"{day} {subject} {digest}".split()) + ".eml"
        # Exports and archives of lists contain some messages twice, with other line breaks or signatures.
        if name not in names and data.strip():
            mark = f"{PARENT_HEADER}: present\n".encode() if known.intersection(answered) else b""
            yield name, mark + data
        names.add(name)
        known.update(_MESSAGE_ID.findall(identifier))


def _split(file: IO[bytes], max_bytes: int) -> Iterator[bytes]:
    lines: list[bytes] = []
    size, is_first, after_blank = 0, True, True
    while line := file.readline(_MAX_LINE_BYTES):
        if after_blank and _SEPARATOR.match(line):
            if lines:
                yield b"".join(lines)
            lines, size = [], 0
        elif is_first and line.strip():
            raise Unreadable("is not a valid mailbox")
        elif size < max_bytes:
            lines.append(line[1:] if _QUOTED_SEPARATOR.match(line) else line)
            size += len(line)
        is_first = is_first and not line.strip()
        after_blank = not line.strip()
    if lines:
        yield b"".join(lines)


def read_header(message: Message, name: str) -> str:
    """Return the decoded first header of a name as one line; empty without it."""
    # `get` replaces bytes that are not ASCII, which many programs write as UTF-8.
    raw = next((value for header, value in message.raw_items() if header.lower() == name), "")
    data = str(raw)[:_MAX_HEADER_LENGTH].encode("utf-8", "surrogateescape")
    try:
        return decode_words(decode(data)) if data.strip() else ""
    except Unreadable:
        return ""


def decode_words(text: str) -> str:
    """Return a header with its encoded words, such as `=?utf-8?q?Gr=C3=BC=C3=9Fe?=`, decoded."""
    try:
        parts = decode_header(text)
        words = [part if isinstance(part, str) else decode(part, charset or "") for part, charset in parts if part]
    except (HeaderParseError, Unreadable, ValueError):
        return collapse_whitespace(text)
    return collapse_whitespace("".join(words))


def format_date(text: str, *, with_time: bool = True) -> str:
    """Return the date of a header in ISO 8601; the header itself if it is none."""
    try:
        date: datetime = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return text
    return date.isoformat(" ", "minutes") if with_time else date.date().isoformat()
