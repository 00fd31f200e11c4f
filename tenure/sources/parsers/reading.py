"""Reading a file or a page of the web into chunks, in a process of its own.

Parsing is slow, holds the interpreter's lock and runs other people's parsers over other people's files,
so it happens next to the process that embeds, and that process survives whatever a parser does. The two
talk over an inherited socket; when the parent is gone, the socket ends, and so does this process.
"""

import hashlib
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path

from tenure.algorithms.retrieval.page_quality import Judgement, judge
from tenure.algorithms.retrieval.relations import Pairs, beside
from tenure.algorithms.text.chunking import chunk
from tenure.algorithms.text.entities import Names, names
from tenure.algorithms.text.near_duplicates import Fingerprint, fingerprint
from tenure.algorithms.text.sentences import stems
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.isolation import confine
from tenure.sources.parsers.page import parse_page
from tenure.sources.parsers.parse import parse

READY = "ready"
RECIPE = "6"
"""Raise it when parsers or chunker make something else of the same bytes: known files are then read anew."""


@dataclass(frozen=True)
class Recipe:
    """How files are to be read."""

    chunk_tokens: int
    """Target length of a chunk."""
    max_tokens: int
    """What the embedding model can read."""
    count_tokens: Callable[[str], int]
    """The embedding model's count."""


@dataclass(frozen=True)
class ReadTask:
    """A file to be read, unless its bytes have the known hash."""

    path: str
    known_hash: str = ""


@dataclass(frozen=True)
class PageTask:
    """A page of the web to be read."""

    path: str
    """Its address, after redirects."""
    body: bytes
    """What the server sent, unpacked."""
    media_type: str = ""
    """What the server calls it, without parameters."""
    charset: str = ""
    """What the server says it is written in."""


@dataclass(frozen=True)
class ReadChunk:
    """A chunk, and the words that stand for it in the vector and full-text indexes."""

    ordinal: int
    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str
    embedded: str
    search_text: str
    names: Names
    """What it names, for the graph."""
    terms: str
    """Stems of its words, each once, in alphabetical order."""
    phrases: tuple[str, ...]
    """Keys of its noun phrases and identifiers."""
    beside: Pairs
    """Pairs of entities that stand in one sentence, and in how many."""


@dataclass(frozen=True)
class ReadFile:
    """A file that was read."""

    path: str
    content_hash: str
    size: int
    mtime_ns: int
    document: Document
    chunks: tuple[ReadChunk, ...]


@dataclass(frozen=True)
class SameFile:
    """A file whose bytes are those already known."""

    path: str


@dataclass(frozen=True)
class BadFile:
    """A file that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class ReadPage:
    """A page of the web that was read."""

    path: str
    """The address it was asked for under."""
    file: ReadFile
    """The page as a source, under the address that it is to be cited by."""
    language: str
    """Its language as a BCP 47 tag; empty where it does not say so."""
    site: str
    """Name of the site."""
    published: str
    """The day it was published, ISO 8601; empty where unknown."""
    judgement: Judgement
    """What is wrong with it."""
    shortened: bool
    """Whether it was so long that its end was left out."""
    fingerprint: Fingerprint
    """What tells whether another page says the same."""


Task = ReadTask | PageTask
Outcome = ReadFile | SameFile | BadFile | ReadPage


def read(task: Task, recipe: Recipe) -> Outcome:
    """Read one file or page; whatever is wrong with it is said in the outcome."""
    try:
        outcome = _page(task, recipe) if isinstance(task, PageTask) else _file(task, recipe)
    except Unreadable as error:
        return BadFile(task.path, error.reason)
    except OSError as error:
        return BadFile(task.path, f"could not be opened: {error.strerror or type(error).__name__}")
    except MemoryError:
        return BadFile(task.path, "needs more memory than a document may")
    # A parser's own bug over one file must cost this file only; the report names it.
    except Exception as error:
        return BadFile(task.path, f"broke its parser: {type(error).__name__}: {error}"[:300])
    read = outcome.file if isinstance(outcome, ReadPage) else outcome
    return BadFile(task.path, "contains no text") if isinstance(read, ReadFile) and not read.chunks else outcome


def _file(task: ReadTask, recipe: Recipe) -> ReadFile | SameFile:
    path = Path(task.path)
    status = path.stat()
    content_hash = _content_hash(path) if stat.S_ISREG(status.st_mode) else ""
    if content_hash and content_hash == task.known_hash:
        return SameFile(task.path)
    document = parse(path)
    return ReadFile(task.path, content_hash, status.st_size, status.st_mtime_ns, document, cut(document, recipe))


def _page(task: PageTask, recipe: Recipe) -> ReadPage:
    page = parse_page(task.body, task.media_type, task.charset, task.path)
    document = page.document
    content_hash = hashlib.sha256(task.body).hexdigest()
    return ReadPage(
        path=task.path,
        file=ReadFile(page.address, content_hash, len(task.body), 0, document, cut(document, recipe)),
        language=page.language,
        site=page.site,
        published=page.published,
        judgement=judge(document.title, document.text, visible=page.visible, hidden=page.hidden, locked=page.locked),
        shortened=page.shortened,
        fingerprint=fingerprint(document.text),
    )


def _content_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cut(document: Document, recipe: Recipe) -> tuple[ReadChunk, ...]:
    """Return a document's chunks."""
    read = []
    count = lru_cache(maxsize=1000)(recipe.count_tokens)  # headings stand over many chunks, and gaps are alike
    for span in chunk(document.text, document.kind, recipe.chunk_tokens, count):
        text = document.text[span.start : span.end]
        path = tuple(span.heading_path)
        search_text = "\n".join(dict.fromkeys((document.title, *path))) + "\n" + text
        found = beside(text)
        read.append(
            ReadChunk(
                ordinal=span.ordinal,
                start=span.start,
                end=span.end,
                heading_path=path,
                text=text,
                embedded=in_context(document.title, path, text, recipe.max_tokens, count, at_most=span.tokens),
                search_text=search_text,
                names=names(text),
                terms=" ".join(sorted(set(stems(search_text)))),
                phrases=found.phrases,
                beside=found.pairs,
            )
        )
    return tuple(read)


def in_context(
    title: str,
    path: Sequence[str],
    text: str,
    max_tokens: int,
    count_tokens: Callable[[str], int],
    *,
    at_most: int | None = None,
) -> str:
    """Return what is embedded for a chunk: its text after title and headings, as many as the model can read with it.

    `at_most` is a number of tokens that the text is known not to exceed; where that is enough to know that all
    headings fit, the text is not counted.
    """
    places = [place for place in dict.fromkeys((title, *path)) if place]
    whole = " \u203a ".join(places)
    if whole and at_most is not None and count_tokens(whole) + at_most <= max_tokens:
        return f"{whole}\n{text}"
    room = max_tokens - count_tokens(text)
    for kept in (places, places[:1] + places[1:][-1:], places[-1:]):
        header = " \u203a ".join(kept)
        if header and count_tokens(header) <= room:
            return f"{header}\n{text}"
    return text


def serve(connection: Connection) -> None:
    """Answer tasks until the other side is gone; the recipe comes first and is answered by `READY`."""
    try:
        recipe: Recipe = connection.recv()
        connection.send(READY)
        while True:
            connection.send(read(connection.recv(), recipe))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def main() -> None:
    """Serve the socket whose number is the first argument, in as many megabytes as the second says."""
    confine(int(sys.argv[2]))
    serve(Connection(int(sys.argv[1])))
