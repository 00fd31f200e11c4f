"""Parse a file, web page or source code and split it into chunks, in a separate process.

Parsing is slow, holds the GIL and runs third-party parsers over untrusted files. It therefore runs outside the process
that embeds, which survives whatever a parser does. Both communicate over an inherited socket; when the parent ends,
the socket closes, and this process ends.
"""

import hashlib
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tenure.algorithms.chunking.chunking import chunk_text, format_heading_path
from tenure.algorithms.coding.languages import find_language
from tenure.algorithms.coding.syntax import parse_code
from tenure.algorithms.retrieval.relations import EntityPairCounts, extract_cooccurrences
from tenure.algorithms.text.entities import NamedEntities, extract_named_entities
from tenure.algorithms.text.languages.detection import UNKNOWN, detect_languages
from tenure.algorithms.text.languages.terms import list_terms
from tenure.algorithms.text.near_duplicates import Fingerprint, compute_fingerprint
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.evidence.corpora import NO_TEXT, SheetWindow
from tenure.contracts.evidence.figures import Figure
from tenure.contracts.evidence.recognition import PagePlace, SheetPlace
from tenure.files.discovery import INCLUDE_SECRETS_HINT, FoundFile, SkippedPath, discover_files
from tenure.files.opening import OpenFile
from tenure.files.secret_files import SNIFFED_BYTES, describe_secret_content, describe_secret_name
from tenure.sources.document import attachments, deadline
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.recording import RecordingPart, divide_recording
from tenure.sources.isolation import limit_memory
from tenure.sources.parsers import recognition
from tenure.sources.parsers.code_outline import CodeTask, ParsedCode, parse_code_file
from tenure.sources.parsers.parse import detect_suffix, open_document, parse_open_file
from tenure.sources.parsers.registry import find_format

if TYPE_CHECKING:
    from tenure.algorithms.retrieval.page_quality import PageAssessment

READY_MESSAGE = "ready"
PAGE_MESSAGE = "page"
"""Message that the text of a page is going to be recognized, which takes time of its own."""
PARSER_VERSION = "18"
"""Version of parsers and chunker; raise it if the same bytes produce other chunks, so that known files are parsed
again.
"""


@dataclass(frozen=True)
class StartedAttachment:
    """Message that an attachment of the file is going to be read."""

    number: int


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading."""

    chunk_tokens: int
    """Target length of a chunk, in tokens."""
    max_tokens: int
    """Context length of the embedding model, in tokens."""
    count_tokens: Callable[[str], int]
    """Function that counts tokens of the embedding model."""


@dataclass(frozen=True, kw_only=True)
class TimedTask:
    """A task with the times after which the reader is ended."""

    cpu_seconds: float = math.inf
    """Computing time."""
    wall_seconds: float = math.inf
    """Time that passes."""


@dataclass(frozen=True)
class FileTask(TimedTask):
    """A file to read, unless its content has the known hash."""

    path: str
    """Absolute path, without symbolic links."""
    known_hash: str = ""
    """Hash of the content that an earlier reading stored."""
    size: int = 0
    """Size in bytes, by which the reader is given time."""
    include_secrets: bool = False
    """Whether the file is read even if it contains keys, passwords or tokens."""
    unpacked: str = ""
    """Path of the content of a file in an archive; empty for other files."""
    lost: Mapping[int, str] = field(default_factory=dict)
    """Reasons for attachments that are left out, by their numbers."""
    max_part_bytes: int = 0
    """Size of a part of a recording that is going to be transcribed; 0 for other files."""


@dataclass(frozen=True)
class ArchiveTask:
    """An archive to unpack, unless its content has the known hash."""

    path: str
    """Absolute path, without symbolic links."""
    folder: str
    """Empty folder for its files, without symbolic links."""
    known_hash: str = ""
    """Hash of the content that an earlier reading stored."""
    size: int = 0
    """Size in bytes, by which the reader is given time."""
    include_secrets: bool = False
    """Whether files whose names indicate secrets are listed."""


@dataclass(frozen=True)
class PageTask(TimedTask):
    """A web page to read."""

    path: str
    """URL, after redirects."""
    body: bytes
    """Decompressed body."""
    media_type: str = ""
    charset: str = ""
    """Character encoding that the server declares."""
    is_whole: bool = False
    """Whether all text of an HTML page is read, and not its main text alone."""


@dataclass(frozen=True)
class PictureTask:
    """A page, slide or figure of a file to draw, or cells to read, if the content of the file has the known hash."""

    path: str
    known_hash: str
    size: int
    place: PagePlace | SheetPlace | Figure
    side: int = 0
    """Maximum pixels of the longer side of a figure."""
    check: str = ""
    """Number that is written below a figure; empty for none."""


@dataclass(frozen=True)
class DrawnPage:
    """A page or figure as an image, or the cells of a sheet."""

    path: str
    image: bytes = b""
    media_type: Literal["image/webp", "image/jpeg", "image/svg+xml"] = "image/webp"
    window: SheetWindow | None = None


@dataclass(frozen=True)
class ParsedChunk:
    """A chunk with the texts for the vector index and the full-text index."""

    ordinal: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str
    embedding_text: str
    search_text: str
    names: NamedEntities
    """Names that the chunk mentions, for the graph."""
    terms: str
    """Distinct stems of its words, in alphabetical order."""
    language: str
    """ISO 639-1 code; empty if it is unknown."""
    language_terms: str | None
    """Terms of the search text for the full-text index of languages other than English; None in English."""
    phrases: tuple[str, ...]
    """Keys of its noun phrases and identifiers."""
    co_occurrences: EntityPairCounts
    """Pairs of entities in the same sentence, with the number of sentences."""


@dataclass(frozen=True)
class ParsedFile:
    """A parsed file."""

    path: str
    content_hash: str
    size: int
    mtime_ns: int
    document: Document
    chunks: tuple[ParsedChunk, ...]


@dataclass(frozen=True)
class Recording:
    """A recording that has to be transcribed; the reader has no access to a server."""

    path: str
    content_hash: str
    size: int
    mtime_ns: int
    content: str
    """Path of its content, which differs for a file in an archive."""
    parts: tuple[RecordingPart, ...]


@dataclass(frozen=True)
class UnchangedFile:
    """A file whose content has the known hash."""

    path: str


@dataclass(frozen=True)
class UnpackedArchive:
    """An archive whose files are in a folder."""

    path: str
    content_hash: str
    files: tuple[FoundFile, ...]
    """Files in the folder that are read."""
    skipped: tuple[SkippedPath, ...]
    """Other files, by their paths in the archive; an empty path is the archive itself."""


@dataclass(frozen=True)
class UnreadableFile:
    """A file that cannot be read, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class ParsedPage:
    """A parsed web page."""

    path: str
    """Requested URL."""
    file: ParsedFile
    """The page as a source, with its URL for citations."""
    published: str
    """Date of publication in ISO 8601; empty if unknown."""
    judgement: "PageAssessment"
    """Flaws of the page."""
    is_truncated: bool
    """Whether the end of a long page was removed."""
    fingerprint: Fingerprint
    """Fingerprint for the detection of near duplicates."""


ReaderTask = FileTask | ArchiveTask | PageTask | CodeTask | PictureTask
ReaderOutcome = (
    ParsedFile | Recording | UnpackedArchive | UnchangedFile | UnreadableFile | ParsedPage | ParsedCode | DrawnPage
)


def read_source(task: ReaderTask, recipe: ReadingOptions) -> ReaderOutcome:
    """Read one file or page; errors become part of the outcome."""
    try:
        if isinstance(task, CodeTask):
            return parse_code_file(task)
        if isinstance(task, PictureTask):
            return _draw_page(task)
        if isinstance(task, ArchiveTask):
            return _unpack(task)
        outcome = _read_page(task, recipe) if isinstance(task, PageTask) else _read_file(task, recipe)
    except Unreadable as error:
        return UnreadableFile(task.path, error.reason)
    except OSError as error:
        return UnreadableFile(task.path, f"could not be opened: {error.strerror or type(error).__name__}")
    except MemoryError:
        return UnreadableFile(task.path, "needs more memory than a document may")
    # A bug of a parser affects only this file; the report names it.
    except Exception as error:
        return UnreadableFile(task.path, f"broke its parser: {type(error).__name__}: {error}"[:300])
    file = outcome.file if isinstance(outcome, ParsedPage) else outcome
    return UnreadableFile(task.path, NO_TEXT) if isinstance(file, ParsedFile) and not file.chunks else outcome


def _read_file(task: FileTask, recipe: ReadingOptions) -> ParsedFile | Recording | UnchangedFile:
    with open_document(Path(task.unpacked or task.path)) as opened:
        status = opened.status
        if not task.include_secrets:
            _check_secrets(opened)
        content_hash = _hash_content(opened)
        if content_hash == task.known_hash:
            return UnchangedFile(task.path)
        if task.max_part_bytes:
            parts = divide_recording(opened.file, status.st_size, opened.path.suffix.lower(), task.max_part_bytes)
            return Recording(
                task.path, content_hash, status.st_size, status.st_mtime_ns, task.unpacked or task.path, parts
            )
        recognition.start_file(recognition.FILE_SECONDS)
        deadline.start_file(task.cpu_seconds, task.wall_seconds)
        attachments.start_file(task.lost)
        document = parse_open_file(opened)
    return ParsedFile(
        task.path, content_hash, status.st_size, status.st_mtime_ns, document, split_document(document, recipe)
    )


def _draw_page(task: PictureTask) -> DrawnPage:
    with open_document(Path(task.path)) as opened:
        if _hash_content(opened) != task.known_hash:
            raise Unreadable("has changed since it was read")
        # Other tasks need none of these libraries.
        if isinstance(task.place, SheetPlace):
            from tenure.sources.parsers.views.sheet_window import read_window

            return DrawnPage(task.path, window=read_window(opened.path, task.place))
        data = opened.read(opened.status.st_size)
        if isinstance(task.place, Figure):
            from tenure.sources.parsers.pictures.drawing import encode_figure

            image = encode_figure(data, opened.path, task.place, task.side, task.check)
            return DrawnPage(task.path, image, "image/jpeg")
        declared = find_format(detect_suffix(data, opened.path.suffix.lower()))
        if declared and declared.module == "pptx":
            from tenure.sources.parsers.views.slide_picture import draw_slide

            return DrawnPage(task.path, draw_slide(data, task.place), "image/svg+xml")
        from tenure.sources.parsers.views.page_picture import draw_page

        return DrawnPage(task.path, draw_page(data, task.place))


def _unpack(task: ArchiveTask) -> UnpackedArchive | UnchangedFile:
    from tenure.sources.parsers.unpacking import unpack

    path, folder = Path(task.path), Path(task.folder)
    with open_document(path) as opened:
        content_hash = _hash_content(opened)
        if content_hash == task.known_hash:
            return UnchangedFile(task.path)
        skipped = unpack(opened.file, path.name, folder)
    found = discover_files([folder], include_secrets=task.include_secrets)
    refused = [SkippedPath(str(Path(where).relative_to(folder)), reason) for where, reason in found.skipped]
    return UnpackedArchive(task.path, content_hash, found.files, (*skipped, *refused))


def _read_page(task: PageTask, recipe: ReadingOptions) -> ParsedPage:
    # Their phrases take 0.1 s to compile, and files need none of them.
    from tenure.algorithms.retrieval.page_quality import assess_page
    from tenure.sources.parsers.web_page import parse_page

    recognition.start_file(recognition.WEB_SECONDS)
    deadline.start_file(task.cpu_seconds, task.wall_seconds)
    page = parse_page(task.body, task.media_type, task.charset, task.path, is_whole=task.is_whole)
    document = page.document
    content_hash = hashlib.sha256(task.body).hexdigest()
    return ParsedPage(
        path=task.path,
        file=ParsedFile(page.url, content_hash, len(task.body), 0, document, split_document(document, recipe)),
        published=page.publication_date,
        judgement=assess_page(
            document.title,
            document.text,
            visible=page.visible_text,
            hidden=page.hidden_text,
            is_paywalled=page.is_paywalled,
        ),
        is_truncated=page.is_truncated,
        fingerprint=compute_fingerprint(document.text),
    )


def _check_secrets(opened: OpenFile) -> None:
    reason = describe_secret_name(opened.path.name) or describe_secret_content(opened.read(SNIFFED_BYTES))
    if reason:
        raise Unreadable(f"{reason}: {INCLUDE_SECRETS_HINT}")


def _hash_content(opened: OpenFile) -> str:
    opened.file.seek(0)
    return hashlib.file_digest(opened.file, "sha256").hexdigest()


def split_document(document: Document, recipe: ReadingOptions) -> tuple[ParsedChunk, ...]:
    """Return the chunks of a document."""
    chunks = []
    count = lru_cache(maxsize=1000)(recipe.count_tokens)  # many chunks share their headings, and gaps are alike
    spans = chunk_text(
        document.text,
        document.kind,
        recipe.chunk_tokens,
        count,
        title=document.title,
        max_tokens=recipe.max_tokens,
        syntax=parse_code(document.text, find_language(document.title)) if document.kind == "code" else None,
    )
    texts = [document.text[span.start : span.end] for span in spans]
    languages = detect_languages(texts) if document.kind == "prose" else [UNKNOWN] * len(texts)
    for span, text, language in zip(spans, texts, languages, strict=True):
        path = tuple(span.heading_path)
        search_text = "\n".join(dict.fromkeys((document.title, *path))) + "\n" + text
        cooccurrences = extract_cooccurrences(text)
        chunks.append(
            ParsedChunk(
                ordinal=span.ordinal,
                start=span.start,
                end=span.end,
                heading_path=path,
                text=text,
                embedding_text=build_embedding_text(
                    document.title, path, text, recipe.max_tokens, count, at_most=span.tokens
                ),
                search_text=search_text,
                names=extract_named_entities(text),
                terms=" ".join(sorted(set(stem_words(search_text)))),
                language=language,
                language_terms=None if language in ("en", UNKNOWN) else " ".join(list_terms(search_text, language)),
                phrases=cooccurrences.phrases,
                co_occurrences=cooccurrences.pairs,
            )
        )
    return tuple(chunks)


def build_embedding_text(
    title: str,
    path: Sequence[str],
    text: str,
    max_tokens: int,
    count_tokens: Callable[[str], int],
    *,
    at_most: int | None = None,
) -> str:
    """Return the text that is embedded for a chunk: title, as many headings as fit into the context, and the chunk.

    `at_most` is an upper bound of the tokens of the text; if all headings fit by this bound, the text is not counted.
    """
    headings = [heading for heading in dict.fromkeys((title, *path)) if heading]
    full = format_heading_path(headings)
    if full and at_most is not None and count_tokens(full) + at_most <= max_tokens:
        return f"{full}\n{text}"
    room = max_tokens - count_tokens(text)
    for selected in (headings, headings[:1] + headings[1:][-1:], headings[-1:]):
        header = format_heading_path(selected)
        if header and count_tokens(header) <= room:
            return f"{header}\n{text}"
    return text


def serve(connection: Connection) -> None:
    """Answer tasks until the connection closes; the options are received first and answered by `READY_MESSAGE`."""
    try:
        recipe: ReadingOptions = connection.recv()
        connection.send(READY_MESSAGE)

        def start_scan() -> None:
            connection.send(PAGE_MESSAGE)
            deadline.start_scan()

        recognition.set_page_listener(start_scan)
        attachments.set_attachment_listener(lambda number: connection.send(StartedAttachment(number)))
        while True:
            connection.send(read_source(connection.recv(), recipe))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def main() -> None:
    """Serve the socket with the file descriptor in the first argument; the second is the memory limit in megabytes."""
    limit_memory(int(sys.argv[2]))
    serve(Connection(int(sys.argv[1])))
