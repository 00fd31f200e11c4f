"""Parse e-mails: subject, people and date, the words of the message, and attachments of known formats.

Quoted words of other messages are marked, so that they are not cited as the words of the sender.
"""

import io
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from email import message_from_bytes
from email.errors import MessageError
from email.message import Message
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from tenure.contracts.evidence.corpora import EMPTY, NO_TEXT
from tenure.contracts.evidence.places import DocumentPlace, is_archive
from tenure.files.discovery import SkippedPath, discover_files
from tenure.files.secret_files import SNIFFED_BYTES, describe_secret_content, describe_secret_name
from tenure.sources.document.attachments import start_attachment
from tenure.sources.document.decode import decode
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, clean_text
from tenure.sources.parsers.formats.plain_text import parse_plain_text, write_plain_text
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree, remove_hidden
from tenure.sources.parsers.mailbox import PARENT_HEADER, decode_words, format_date, read_header
from tenure.sources.parsers.parse import find_refusal, parse_content
from tenure.sources.parsers.registry import Format, find_suffix
from tenure.sources.parsers.unpacking import UnpackLimits, unpack

MESSAGE: Final = Format(
    parser="parse_message",
    description="e-mails with their attachments of known formats; quoted words of others are marked",
    suffixes=(".eml", ".emlx"),
    media_types=("message/rfc822",),
    is_binary=True,
)

_KNOWN_HEADERS: Final = ("from", "to", "subject", "date", "message-id", "received", "content-type")
_SIGNATURES: Final = ("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature")
_MAX_SHOWN_LENGTH: Final = 300
"""Characters of a header in the text: a list of recipients may be very long."""
_MAX_DEPTH: Final = 20
"""Maximum nesting of parts; forwarded chains of messages reach five."""
_MAX_PARTS: Final = 500
_MAX_ATTACHMENTS: Final = 50
_MAX_ATTACHMENT_BYTES: Final = 20_000_000
_ARCHIVE_LIMITS: Final = UnpackLimits(members=500, total_bytes=200_000_000, member_bytes=_MAX_ATTACHMENT_BYTES)
_IN_ARCHIVE: Final = ContextVar("in_archive", default=False)
"""Whether the message that is parsed is in an attached archive, whose archives are not unpacked."""
_ATTACHMENT_SECONDS: Final = 10.0
"""Computing time after which no further attachment is read; a file of 1 MB gets 25 in all."""
_MAX_NAMED: Final = 5
"""Attachments that are named as not read."""
_MIN_PLAIN_SHARE: Final = 0.3
"""Share of the words of the HTML part that the plain part needs: "Your program does not show HTML" is no message."""
_QUOTED: Final = "Quoted: "
_QUOTE_MARK: Final = re.compile(r"[ ]?(?:>[ ]?)+")  # "> ", ">> ", "> > ".
# "-----Original Message-----", "---------- Forwarded message ---------", "-------- Ursprüngliche Nachricht --------".
_ORIGINAL: Final = re.compile(
    r"[ \t]{0,8}-{2,40}[ \t]{0,4}(?:original|forwarded|weitergeleitete|ursprüngliche|mensaje|message d|messaggio)"
    r"[^\n-]{0,40}-{2,40}[ \t]{0,8}\Z",
    re.IGNORECASE,
)
_UNSAFE_NAME: Final = re.compile(r"[\x00-\x1f/\\]+")  # "../" in the name of an attachment.


class _Attachment(NamedTuple):
    name: str
    part: Message


class _AttachedFile(NamedTuple):
    name: str
    """Name of the attachment; in an archive with that of the archive before it."""
    suffix: str
    load: Callable[[], bytes]
    charset: str
    is_packed: bool = False
    """Whether it is in an archive."""


class _Content(NamedTuple):
    """Parts of a message in reading order."""

    bodies: list[Message]
    attachments: list[_Attachment]
    messages: list[Message]
    """Messages that it contains, as attachments or forwarded."""


def parse_message(data: bytes, limit_bytes: int) -> Document:
    """Parse an e-mail; a text without headers is plain text."""
    # Apple Mail writes the number of bytes above the message.
    first, _, rest = data.partition(b"\n")
    message = message_from_bytes(rest if first.strip().isdigit() else data)
    if not any(name.lower() in _KNOWN_HEADERS for name in message):
        return parse_plain_text(clean_text(decode(data)))
    form = NormalFormWriter()
    content = _Content([], [], [])
    missing = list(_write_message(form, message, content, 0))
    document = Document(
        title=read_header(message, "subject"),
        text=form.text,
        kind="prose",
        author=read_header(message, "from"),
        published=format_date(read_header(message, "date"), with_time=False),
    )
    document, more = _add_attachments(document, content.attachments, min(limit_bytes, _MAX_ATTACHMENT_BYTES))
    return replace(document, unread=_describe_missing([*missing, *more]))


def _write_message(form: NormalFormWriter, message: Message, content: _Content, depth: int) -> Iterator[str]:
    """Write a message without its attachments, which are added to `content`, and yield what is not read."""
    form.add_heading(1 + min(depth, 2), read_header(message, "subject") or "Message without a subject")
    names = (("From", "from"), ("To", "to"), ("Cc", "cc"), ("Date", "date"))
    lines = [f"{label}: {_shorten(value)}" for label, name in names if (value := read_header(message, name))]
    date = format_date(read_header(message, "date"))
    form.add_lines([*(line for line in lines if not line.startswith("Date:")), *([f"Date: {date}"] if date else [])])
    inner = _Content([], content.attachments, [])
    yield from _sort_parts(message, inner, 0)
    has_parent = message[PARENT_HEADER] is not None
    for body in inner.bodies:
        try:
            _write_body(form, body, has_parent=has_parent)
        except Unreadable as error:
            yield f"a part of {body.get_content_type()} ({error.reason})"
    for attached in inner.messages:
        if depth >= _MAX_DEPTH:
            yield "messages inside messages (is nested too deeply)"
            return
        yield from _write_message(form, attached, content, depth + 1)


def _sort_parts(message: Message, content: _Content, depth: int) -> Iterator[str]:
    """Add the parts of a message to its content, and yield what is not read."""
    if depth > _MAX_DEPTH or len(content.bodies) + len(content.attachments) + len(content.messages) > _MAX_PARTS:
        yield "further parts (is nested too deeply)"
        return
    kind = message.get_content_type()
    name = _get_file_name(message)
    parts = _list_parts(message)
    if kind == "message/rfc822" and parts:
        content.messages.extend(parts)
    elif kind == "multipart/encrypted":
        yield "its encrypted part"
    elif kind == "multipart/alternative" and parts:
        yield from _sort_alternatives(parts, content, depth)
    elif parts:
        for part in parts:
            yield from _sort_parts(part, content, depth + 1)
    elif message.get_content_maintype() in ("text", "multipart") and not _is_attached(message, name, kind):
        # A multipart without its boundaries is text.
        content.bodies.append(message)
    elif not (message.get_content_maintype() == "image" and message.get("content-id")) and kind not in _SIGNATURES:
        # Pictures that the words show, such as logos, are no attachments.
        content.attachments.append(_Attachment(name or f"of {kind}", message))


def _list_parts(message: Message) -> list[Message]:
    payload = message.get_payload()
    return [part for part in payload if isinstance(part, Message)] if isinstance(payload, list) else []


def _is_attached(message: Message, name: str, kind: str) -> bool:
    return message.get_content_disposition() == "attachment" or (bool(name) and kind not in ("text/plain", "text/html"))


def _sort_alternatives(parts: Sequence[Message], content: _Content, depth: int) -> Iterator[str]:
    """Add the plain text of alternatives, or the richest one if the plain text is only a remark."""
    plain = next((part for part in parts if part.get_content_type() == "text/plain"), None)
    others = [part for part in parts if part is not plain]
    if plain is not None and _count_words(plain) >= _MIN_PLAIN_SHARE * max(map(_count_words, others), default=0):
        content.bodies.append(plain)
        # An alternative may contain attachments, as in messages of Apple Mail.
        others = [part for part in others if part.is_multipart()]
        inner = _Content([], content.attachments, content.messages)
        for part in others:
            yield from _sort_parts(part, inner, depth + 1)
    elif others:
        yield from _sort_parts(others[-1], content, depth + 1)


def _count_words(part: Message) -> int:
    """Return the number of words of a part, without markup; of a multipart, those of its HTML."""
    if part.is_multipart():
        return max(map(_count_words, _list_parts(part)[:_MAX_ATTACHMENTS]), default=0)
    try:
        text = _read_text(part)
        return len((text if part.get_content_subtype() == "plain" else parse_html_tree(text).text_content()).split())
    except Unreadable:
        return 0


def _write_body(form: NormalFormWriter, part: Message, *, has_parent: bool) -> None:
    text = _read_text(part)
    if part.get_content_subtype() == "html":
        tree = parse_html_tree(text)
        remove_hidden(tree)
        for quote in tree.xpath("//blockquote[not(ancestor::blockquote)]"):
            if has_parent and quote.getnext() is None:
                quote.drop_tree()
                continue
            for block in (quote, *quote.iterdescendants("p", "div")):
                block.text = _QUOTED + block.text if block.text and block.text.strip() else block.text
        write_blocks(form, tree)
    elif part.get_content_subtype() in ("plain", "markdown"):
        _write_plain(form, text.split("\n"), has_parent=has_parent)
    else:
        write_plain_text(form, text)


def _write_plain(form: NormalFormWriter, lines: Sequence[str], *, has_parent: bool) -> None:
    """Write the lines of a message; of a reply whose parent is known, what it repeats of it only as far as answered."""
    original = next((n for n, line in enumerate(lines) if _ORIGINAL.match(line)), len(lines))
    runs = list(_split_quotes(lines[:original]))
    for number, (is_quoted, run) in enumerate(runs):
        if not is_quoted:
            write_plain_text(form, "\n".join(run))
            continue
        paragraphs = [" ".join(part.split()) for part in "\n".join(run).split("\n\n")]
        paragraphs = [part for part in paragraphs if part]
        if has_parent:
            # The paragraph before an answer says what is answered.
            paragraphs = paragraphs[-1:] if number + 1 < len(runs) else []
        for paragraph in paragraphs:
            form.add_paragraph(_QUOTED + paragraph)
    if original < len(lines) and not has_parent:
        form.add_paragraph("Original message:")
        _write_plain(form, lines[original + 1 :], has_parent=False) if original + 1 < len(lines) else None


def _split_quotes(lines: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Yield runs of lines that are quoted, without their marks, and of others."""
    run: list[str] = []
    quoted = False
    for line in lines:
        mark = _QUOTE_MARK.match(line)
        if bool(mark) != quoted and (line.strip() or quoted is False):
            if any(map(str.strip, run)):
                yield quoted, run
            run, quoted = [], bool(mark)
        run.append((line[mark.end() :] if mark else line).rstrip())
    if any(map(str.strip, run)):
        yield quoted, run


def _add_attachments(
    document: Document, attachments: Sequence[_Attachment], limit_bytes: int
) -> tuple[Document, list[str]]:
    """Return a message with the texts of its attachments, and those that are not read with the reasons."""
    missing: list[str] = []
    deadline = time.process_time() + _ATTACHMENT_SECONDS
    for number, file in enumerate(_iterate_files(attachments, limit_bytes, missing)):
        try:
            start_attachment()
            if number >= _MAX_ATTACHMENTS:
                raise Unreadable(f"follows {_MAX_ATTACHMENTS} others")
            if time.process_time() > deadline:
                raise Unreadable("the time for attachments is used up")
            document = _append(document, file.name, _parse_attachment(file, limit_bytes))
        except Unreadable as error:
            missing.append(_describe_unread(file.name, error.reason))
        except MemoryError:
            missing.append(_describe_unread(file.name, "needs more memory than a document may"))
        # A bug of a parser affects only this attachment; the report names it.
        except Exception as error:
            missing.append(_describe_unread(file.name, f"broke its parser: {type(error).__name__}"))
    return document, missing


def _describe_unread(name: str, reason: str) -> str:
    return f"the attachment {name} ({reason})"


def _iterate_files(attachments: Sequence[_Attachment], limit_bytes: int, missing: list[str]) -> Iterator[_AttachedFile]:
    """Yield the attachments and, in the place of an archive, its files; add those that are not unpacked to others."""
    for name, part in attachments:
        suffix = PurePosixPath(name).suffix.lower() or find_suffix(part.get_content_type())
        file = _AttachedFile(name, suffix, partial(_get_bytes, part), _get_charset(part))
        if not is_archive(name):
            yield file
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                yield from _unpack(file, Path(folder).resolve(), limit_bytes, missing)
            except Unreadable as error:
                missing.append(_describe_unread(name, error.reason))


def _unpack(file: _AttachedFile, folder: Path, limit_bytes: int, missing: list[str]) -> Iterator[_AttachedFile]:
    """Yield the files of an attached archive."""
    start_attachment()
    if _IN_ARCHIVE.get():
        raise Unreadable("is an archive in an archive")
    data = _load(file, limit_bytes)
    skipped = unpack(io.BytesIO(data), file.name, folder, _ARCHIVE_LIMITS)
    found = discover_files([folder])
    refused = [SkippedPath(str(Path(where).relative_to(folder)), reason) for where, reason in found.skipped]
    missing += [_describe_unread(f"{file.name}/{path}".rstrip("/"), reason) for path, reason in (*skipped, *refused)]
    for inner in found.files:
        path = Path(inner.path)
        name = f"{file.name}/{path.relative_to(folder)}"
        yield _AttachedFile(name, path.suffix.lower(), path.read_bytes, "", is_packed=True)


def _parse_attachment(file: _AttachedFile, limit_bytes: int) -> Document:
    if reason := find_refusal(PurePosixPath(file.name)) or describe_secret_name(PurePosixPath(file.name).name):
        raise Unreadable(reason)
    data = _load(file, limit_bytes)
    if reason := describe_secret_content(data[:SNIFFED_BYTES]):
        raise Unreadable(reason)
    packed = _IN_ARCHIVE.set(_IN_ARCHIVE.get() or file.is_packed)
    try:
        document = parse_content(data, file.name, file.suffix, limit_bytes, charset=file.charset)
    finally:
        _IN_ARCHIVE.reset(packed)
    if not document.text:
        raise Unreadable(NO_TEXT)
    return document


def _load(file: _AttachedFile, limit_bytes: int) -> bytes:
    data = file.load()
    if len(data) > limit_bytes:
        raise Unreadable(f"is larger than {limit_bytes / 1e6:g} MB")
    if not data.strip():
        raise Unreadable(EMPTY)
    return data


def _append(document: Document, name: str, attached: Document) -> Document:
    """Return a message with one more attachment, whose pages become places of the message."""
    form = NormalFormWriter()
    form.add_heading(1, f"Attachment {name}")
    if attached.kind == "code":
        form.add_literal(attached.text)
        text, shift = form.text, 0
    else:
        text, shift = f"{form.text}\n\n{attached.text}", form.length + 2
    base = len(document.text) + 2
    label = f"attachment {name}"
    inner = [*attached.places, *(DocumentPlace(start, f"page {n}") for n, start in enumerate(attached.pages, 1))]
    places = [DocumentPlace(base, label)]
    places += [DocumentPlace(base + shift + start, f"{label}, {part}") for start, part in inner if part]
    words = [word._replace(start=base + shift + word.start, end=base + shift + word.end) for word in attached.words]
    return replace(
        document,
        text=f"{document.text}\n\n{text}",
        places=(*document.places, *places),
        words=(*document.words, *words),
    )


def _describe_missing(missing: Sequence[str]) -> str:
    if not missing:
        return ""
    more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
    return f"was read without {', '.join(missing[:_MAX_NAMED])}{more}"


def _read_text(part: Message) -> str:
    return clean_text(decode(_get_bytes(part), _get_charset(part)))


def _get_bytes(part: Message) -> bytes:
    # Damaged parameters make the library raise many errors.
    try:
        payload = part.get_payload(decode=True)
    except (LookupError, TypeError, ValueError, MessageError) as error:
        raise Unreadable("is damaged") from error
    return payload if isinstance(payload, bytes) else b""


def _get_charset(part: Message) -> str:
    charset = part.get_param("charset")
    return charset if isinstance(charset, str) else ""


def _get_file_name(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (LookupError, TypeError, ValueError, MessageError):
        return ""
    return _UNSAFE_NAME.sub("_", decode_words(name))[:_MAX_SHOWN_LENGTH]


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH].rstrip()}…"
