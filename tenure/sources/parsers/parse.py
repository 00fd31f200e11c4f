"""One door to all parsers: a file in, a document in normal form out, or the reason why not.

The suffix decides; a file whose suffix says nothing is judged by its first bytes. A file never stops a
run: whatever is wrong with it is `Unreadable`.
"""

import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from tenure.sources.document.decode import decode, is_binary
from tenure.sources.document.document import NO_TEXT, Document, Unreadable
from tenure.sources.document.normal_form import clean, one_line, strip_lines
from tenure.sources.parsers.plain_text import parse_log, parse_plain, parse_table
from tenure.sources.tables.catalogue import FORMATS

DEFAULT_LIMIT_BYTES: Final = 50_000_000
"""Size above which a file is not read."""

TABLE_LIMIT_BYTES: Final = 2_000_000_000
"""The same for tables, which are described and not loaded."""


# The parsers of these formats are loaded with the first file of their kind: together they take a second
# of a start that mostly reads Markdown.
def _markdown(text: str) -> Document:
    from tenure.sources.parsers.markdown import parse_markdown

    return parse_markdown(text)


def _rst(text: str) -> Document:
    from tenure.sources.parsers.rst import parse_rst

    return parse_rst(text)


def _web_page(text: str) -> Document:
    from tenure.sources.parsers.html import parse_html

    return parse_html(text)


def _pdf(data: bytes) -> Document:
    from tenure.sources.parsers.pdf import parse_pdf

    return parse_pdf(data)


def _docx(data: bytes, limit_bytes: int) -> Document:
    from tenure.sources.parsers.docx import parse_docx

    return parse_docx(data, limit_bytes)


def _pptx(data: bytes, limit_bytes: int) -> Document:
    from tenure.sources.parsers.pptx import parse_pptx

    return parse_pptx(data, limit_bytes)


def _odt(data: bytes, limit_bytes: int) -> Document:
    from tenure.sources.parsers.odt import parse_odt

    return parse_odt(data, limit_bytes)


def _epub(data: bytes, limit_bytes: int) -> Document:
    from tenure.sources.parsers.epub import parse_epub

    return parse_epub(data, limit_bytes)


def _notebook(text: str) -> Document:
    from tenure.sources.parsers.notebook import parse_notebook

    return parse_notebook(text)


def _feed(text: str) -> Document:
    from tenure.sources.parsers.feed import parse_feed

    return parse_feed(text)


_BINARY: dict[str, Callable[[bytes, int], Document]] = {
    ".pdf": lambda data, _: _pdf(data),
    ".docx": _docx,
    ".pptx": _pptx,
    ".odt": _odt,
    ".epub": _epub,
}
_PROSE: dict[str, Callable[[str], Document]] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx"), _markdown),
    **dict.fromkeys((".rst", ".rest"), _rst),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _web_page),
    **dict.fromkeys((".txt", ".text", ".adoc", ".org", ".tex"), parse_plain),
    **dict.fromkeys((".rss", ".atom", ".rdf"), _feed),
    ".ipynb": _notebook,
    ".log": parse_log,
    ".csv": lambda text: parse_table(text, ","),
    ".tsv": lambda text: parse_table(text, "\t"),
}
_TEXT_TABLES = frozenset((".csv", ".tsv", ".jsonl", ".ndjson"))
_CODE_SUFFIXES = (
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .go .rs .java .kt .kts .scala .swift .c .h .cc .hh .cpp .hpp .cxx .cs .m .mm "
    ".rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hs .ml .mli .fs .clj .el .lisp .vim .zig .nim .proto .graphql "
    ".sh .bash .zsh .fish .ps1 .bat .sql .toml .yaml .yml .json .jsonl .ndjson .ini .cfg .conf .env .properties .xml "
    ".xsd .css .scss .less .vue .svelte .tf .cmake .mk .gradle .dockerfile"
)
_CODE = frozenset(_CODE_SUFFIXES.split())
_CODE_NAMES = frozenset(("dockerfile", "makefile", "justfile", "rakefile", "gemfile", "jenkinsfile", "cmakelists.txt"))
_FOREIGN = {
    "is an image": ".png .jpg .jpeg .gif .bmp .ico .webp .tif .tiff .heic .avif .psd .svg",
    "is a sound or video": ".mp3 .wav .ogg .flac .m4a .mp4 .mov .avi .mkv .webm",
    "is an archive": ".zip .tar .gz .tgz .bz2 .xz .zst .7z .rar .jar .whl .iso .deb .rpm",
    "is a program": ".exe .dll .so .dylib .o .a .lib .class .pyc .pyo .pyd .wasm .bin",
    "is a font": ".ttf .otf .woff .woff2",
    "is a word processor's file, which Tenure does not read": ".doc .rtf .pages",
    "is a presentation, which Tenure does not read": ".ppt .odp .key",
}
_REASONS = {suffix: reason for reason, suffixes in _FOREIGN.items() for suffix in suffixes.split()}
_MARKUP = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:(?><!--.*?-->)\s*)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_FEED = re.compile(r"\s*(?:(?><\?.*?>|<!--.*?-->)\s*)*+<(?:rss|feed|rdf:RDF)\b", re.DOTALL)
_MAY_BE_FEED = frozenset(("", ".xml"))
_PACKAGES = {
    b"word/document.xml": ".docx",
    b"ppt/presentation.xml": ".pptx",
    b"xl/workbook": ".xlsx",
    b"mimetypeapplication/epub+zip": ".epub",
    b"mimetypeapplication/vnd.oasis.opendocument.text": ".odt",
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet": ".ods",
}
_NAME_SEPARATORS = re.compile(r"[\s_\-]+")


def parse(path: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Document:
    """Read a file.

    Args:
        path: The file.
        limit_bytes: Size above which it is refused.

    Returns:
        The document, with a title and at least one word.

    Raises:
        Unreadable: if it cannot be read, whatever the cause.
    """
    suffix = path.suffix.lower()
    if reason := _REASONS.get(suffix):
        raise Unreadable(reason)
    _check(path, TABLE_LIMIT_BYTES if suffix in FORMATS else limit_bytes)
    document = _table(path) if suffix in FORMATS else None
    document = document or parse_bytes(_load(path, limit_bytes), path.name, suffix, limit_bytes)
    return titled(document, readable_name(path))


def parse_bytes(
    data: bytes, name: str, suffix: str, limit_bytes: int = DEFAULT_LIMIT_BYTES, charset: str = ""
) -> Document:
    """Read what a file holds.

    Args:
        data: Its bytes.
        name: Its name, which some files of code are known by.
        suffix: What the name says of the format, in small letters with its dot; may be empty.
        limit_bytes: Size above which a file is refused; a package may unpack to ten times as much.
        charset: What whoever sent the bytes says they are written in.

    Raises:
        Unreadable: if it cannot be read, whatever the cause.
    """
    suffix = sniffed(data, suffix)
    try:
        if read := _BINARY.get(suffix):
            return read(data, limit_bytes)
        if suffix not in _PROSE and is_binary(data):
            raise Unreadable("is a binary file")
        return _read_text(clean(decode(data, charset)), name, suffix)
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error


def sniffed(data: bytes, suffix: str) -> str:
    """Return the suffix of what bytes are: the given one, unless it says nothing or the first bytes know better."""
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if is_known(suffix) or not data.startswith(b"PK\x03\x04"):
        return suffix
    return next((found for mark, found in _PACKAGES.items() if mark in data), suffix)


def is_known(suffix: str) -> bool:
    """Say whether a suffix names a format that Tenure reads."""
    return suffix in _PROSE or suffix in _BINARY or suffix in _CODE or suffix in FORMATS


def is_markup(text: str) -> bool:
    """Say whether a text of unknown format is a page."""
    return bool(_MARKUP.match(text))


def titled(document: Document, name: str) -> Document:
    """Return a document with one line each for title, author and date; the name stands in for a missing title.

    Raises:
        Unreadable: if there is nothing in it.
    """
    if not document.text:
        raise Unreadable(NO_TEXT)
    title = one_line(document.title) or name
    return replace(document, title=title, author=one_line(document.author), published=one_line(document.published))


def readable_name(path: Path) -> str:
    """Return a file's name as a title: without suffix, words separated by spaces."""
    return one_line(_NAME_SEPARATORS.sub(" ", path.stem)) or path.name


def _check(path: Path, limit_bytes: int) -> None:
    """Refuse what is no file, or one that is too large."""
    with _opening():
        status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise Unreadable("is a folder that cannot be listed")
    # A pipe or a device would be read for ever.
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("is not a regular file")
    if status.st_size > limit_bytes:
        raise Unreadable(f"is larger than {limit_bytes / 1e6:g} MB")
    if not status.st_size:
        raise Unreadable("is empty")


def _load(path: Path, limit_bytes: int) -> bytes:
    _check(path, limit_bytes)
    with _opening():
        data = path.read_bytes()
    if not data.strip():
        raise Unreadable("is empty")
    return data


@contextmanager
def _opening() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unreadable(f"could not be opened ({(error.strerror or type(error).__name__).lower()})") from error


def _table(path: Path) -> Document | None:
    """Describe a file of tables; None for a text that only looks like one."""
    from tenure.sources.parsers.table_text import table_document

    try:
        with _opening():
            return table_document(path)
    except Unreadable:
        # Lines of text are worth reading even where they make no table; what is not text says why it cannot be read.
        if path.suffix.lower() in _TEXT_TABLES:
            return None
        raise


def _read_text(text: str, name: str, suffix: str) -> Document:
    if suffix in _MAY_BE_FEED and _FEED.match(text):
        return _feed(text)
    if suffix in _CODE or name.lower() in _CODE_NAMES or (not suffix and text.startswith("#!")):
        return Document(title=name, text=strip_lines(text), kind="code")
    if suffix not in _PROSE and is_markup(text):
        return _web_page(text)
    return _PROSE.get(suffix, parse_plain)(text)
