"""Parse files into documents in normal form: choose the parser, or raise `Unreadable` with the reason.

The suffix decides; the content of a file without a known suffix is sniffed.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Final

from tenure.algorithms.text.dates import normalize_date
from tenure.contracts.evidence.corpora import EMPTY, NO_TEXT
from tenure.files.opening import FileRefused, OpenFile, open_file
from tenure.sources.document.decode import decode_damaged, is_binary
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import clean_text, collapse_whitespace, strip_lines
from tenure.sources.document.recording import NO_MODEL, is_recording
from tenure.sources.parsers.pictures.neighbours import Loader, load_neighbour, load_nothing
from tenure.sources.parsers.recognition import MISSING, is_available
from tenure.sources.parsers.registry import find_format, list_formats
from tenure.sources.tables.catalogue import TABLE_FORMATS

DEFAULT_LIMIT_BYTES: Final = 50_000_000

TABLE_LIMIT_BYTES: Final = 2_000_000_000
"""Maximum size of a file with tables, which is described and not loaded."""

_TEXT_TABLES = frozenset((".csv", ".tsv", ".jsonl", ".ndjson"))
_CODE_SUFFIXES = (
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .go .rs .java .kt .kts .scala .swift .c .h .cc .hh .cpp .hpp .cxx .cs .m .mm "
    ".rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hs .ml .mli .fs .clj .el .lisp .vim .zig .nim .proto .graphql "
    ".sh .bash .zsh .fish .ps1 .bat .sql .toml .yaml .yml .json .ini .cfg .conf .env .properties .xml "
    ".xsd .css .scss .less .vue .svelte .tf .cmake .mk .gradle .dockerfile"
)
_CODE = frozenset(_CODE_SUFFIXES.split())
_CODE_NAMES = frozenset(("dockerfile", "makefile", "justfile", "rakefile", "gemfile", "jenkinsfile", "cmakelists.txt"))
_FOREIGN = {
    "is an image of a format that is not read (convert it to PNG)": ".ico .heic .heif .avif .psd .svg",
    "is a video of a format that is not read (convert it to MP4)": ".mov .avi .mkv .wmv .flv",
    "is a sound of a format that is not read (convert it to MP3)": ".aac .wma .aiff .aif .amr .mid",
    "is an archive": ".zip .tar .gz .tgz .bz2 .xz .zst .7z .rar .jar .whl .iso .deb .rpm",
    "is a program": ".exe .dll .so .dylib .o .a .lib .class .pyc .pyo .pyd .wasm .bin",
    "is a font": ".ttf .otf .woff .woff2",
    "is a text of a format that is not read (convert it to DOCX)": ".doc .pages .wpd",
    "is a presentation of a format that is not read (convert it to PPTX)": ".ppt .key",
    "is a workbook of a format that is not read (convert it to XLSX)": ".numbers",
    "is a book of a format that is not read (convert it to EPUB)": ".mobi .azw .azw3",
    "is of a format that is not read (convert it to PDF)": ".chm .djvu .dwg .one .pub .vsd .vsdx",
}
_REASONS = {suffix: reason for reason, suffixes in _FOREIGN.items() for suffix in suffixes.split()}
# "<!DOCTYPE html>" or "<html>" after a declaration of XML and comments.
_MARKUP = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:(?><!--.*?-->)\s*)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
# "<rss", "<feed" or "<rdf:RDF" after a declaration of XML and comments.
_FEED = re.compile(r"\s*(?:(?><\?.*?>|<!--.*?-->)\s*)*+<(?:rss|feed|rdf:RDF)\b", re.DOTALL)
_MAY_BE_FEED = frozenset(("", ".xml"))
_TABLE_PACKAGES = {
    b"xl/workbook": ".xlsx",
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet": ".ods",
}
_PICTURES = "picture"
"""Module of the format whose text is recognized."""
_INDEX_NAMES = frozenset(("index", "readme", "_index"))
# "2022-03-29-at-least-once.md", "minutes_2024_05_06.txt"; the folder of a post for its index.md.
_PATH_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_]([01]\d)[-_]([0-3]\d)(?!\d)")
_NAME_SEPARATORS = re.compile(r"[\s_\-]+")  # "annual-report_2021" is "annual report 2021".


def parse_file(path: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Document:
    """Open and parse a file.

    Returns:
        The document, with a title and at least one word.

    Raises:
        Unreadable: the file cannot be parsed, whatever the cause.
    """
    with open_document(path) as opened:
        return parse_open_file(opened, limit_bytes)


def parse_open_file(opened: OpenFile, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Document:
    """Parse an open file; see `parse_file`."""
    path = opened.path
    suffix = path.suffix.lower()
    if reason := find_refusal(path):
        raise Unreadable(reason)
    _check_size(opened, TABLE_LIMIT_BYTES if suffix in TABLE_FORMATS else limit_bytes)
    is_small = opened.status.st_size <= limit_bytes
    document = _describe_tables(path, uniform=is_small) if suffix in TABLE_FORMATS else None
    if document is None:
        data = _load(opened, limit_bytes)
        document = parse_bytes(data, path.name, suffix, limit_bytes, load_picture=load_neighbour(path.parent))
    return add_path_metadata(document, path)


def add_path_metadata(document: Document, path: Path) -> Document:
    """Return a document with the date and the title that its path has, as far as it has none of its own."""
    dated = replace(document, published=document.published or find_path_date(path))
    return complete_metadata(dated, make_title(path))


def find_refusal(path: PurePath) -> str:
    """Return the reason for which no file of this name is read, or an empty string; the file is not opened."""
    suffix = path.suffix.lower()
    declared = find_format(suffix)
    if declared and declared.module == _PICTURES and not is_available():
        return f"is a picture, and {MISSING}"
    if is_recording(path):
        return NO_MODEL
    return _REASONS.get(suffix, "")


@contextmanager
def open_document(path: Path) -> Iterator[OpenFile]:
    """Open a file to parse it."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_file(path.absolute()))
        except FileRefused as error:
            raise Unreadable(error.reason) from error
        except OSError as error:
            raise Unreadable(describe_os_error(error)) from error
        yield opened


def parse_bytes(
    data: bytes,
    name: str,
    suffix: str,
    limit_bytes: int = DEFAULT_LIMIT_BYTES,
    charset: str = "",
    load_picture: Loader = load_nothing,
) -> Document:
    """Parse the content of a file.

    Args:
        data: content.
        name: name of the file, which identifies some files of code.
        suffix: suffix of the name, in lower case with its dot; may be empty.
        limit_bytes: maximum size of a file; a package may decompress to ten times as much.
        charset: character encoding that the sender declares.
        load_picture: function that returns the content of a picture in the folder of the file.

    Raises:
        Unreadable: the content cannot be parsed, whatever the cause.
    """
    suffix = detect_suffix(data, suffix)
    declared = find_format(suffix)
    try:
        if declared and declared.is_binary:
            document = declared.load_binary_parser()(data, limit_bytes)
        elif declared is None and is_binary(data):
            raise Unreadable("is a binary file")
        else:
            text, damage = decode_damaged(data, charset)
            document = _parse_text(clean_text(text), name, suffix)
            document = replace(document, unread=document.unread or damage)
        return _read_pictures(document, load_picture)
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error


def _read_pictures(document: Document, load: Loader) -> Document:
    if not document.pictures:
        return document
    # Imported when needed: most documents have no pictures.
    from tenure.sources.parsers.pictures.embedded import read_pictures

    return read_pictures(document, load)


def parse_content(
    data: bytes, name: str, suffix: str, limit_bytes: int = DEFAULT_LIMIT_BYTES, charset: str = ""
) -> Document:
    """Parse content of any format, also of a table; see `parse_bytes`."""
    if suffix not in TABLE_FORMATS:
        return parse_bytes(data, name, suffix, limit_bytes, charset)
    # The SQL engine reads files.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / f"{PurePosixPath(name).stem or 'table'}{suffix}"
        path.write_bytes(data)
        return parse_file(path, limit_bytes)


def detect_suffix(data: bytes, suffix: str) -> str:
    """Return the suffix for content: the given one, unless it is unknown or a signature contradicts it."""
    formats = list_formats()
    if signed := next((f for f in formats if f.signature and data.startswith(f.signature)), None):
        return signed.suffixes[0]
    if is_supported(suffix) or not data.startswith(b"PK\x03\x04"):
        return suffix
    packages = {f.package_member: f.suffixes[0] for f in formats if f.package_member} | _TABLE_PACKAGES
    return next((package for member, package in packages.items() if member in data), suffix)


def is_supported(suffix: str) -> bool:
    """Return whether a parser exists for a suffix."""
    return find_format(suffix) is not None or suffix in _CODE or suffix in TABLE_FORMATS


def is_markup(text: str) -> bool:
    """Return whether a text of unknown format is an HTML page."""
    return bool(_MARKUP.match(text))


def complete_metadata(document: Document, title: str) -> Document:
    """Return a document with title, author and date of one line each; `title` replaces an empty title."""
    if not document.text:
        raise Unreadable(NO_TEXT)
    title = collapse_whitespace(document.title) or title
    published = collapse_whitespace(document.published)
    return replace(
        document,
        title=title,
        author=collapse_whitespace(document.author),
        # "|today|" and "unreleased" are no dates.
        published=published if any(map(str.isdigit, published)) else "",
    )


def find_path_date(path: Path) -> str:
    """Return the date in the name of a file, or in that of the folder of an index; empty if there is none."""
    names = (path.stem, *([path.parent.name] if path.stem.lower() in _INDEX_NAMES else []))
    matches = (_PATH_DATE.search(name) for name in names)
    return next((normalize_date("-".join(date.groups())) for date in matches if date), "")


def make_title(path: Path) -> str:
    """Return a title made from the name of a file: without suffix, words separated by spaces."""
    return collapse_whitespace(_NAME_SEPARATORS.sub(" ", path.stem)) or path.name


def _check_size(opened: OpenFile, limit_bytes: int) -> None:
    size = opened.status.st_size
    if size > limit_bytes:
        raise Unreadable(f"is larger than {limit_bytes / 1e6:g} MB")
    if not size:
        raise Unreadable(EMPTY)


def _load(opened: OpenFile, limit_bytes: int) -> bytes:
    _check_size(opened, limit_bytes)
    try:
        data = opened.read(limit_bytes)
    except OSError as error:
        raise Unreadable(describe_os_error(error)) from error
    if not data.strip():
        raise Unreadable(EMPTY)
    return data


def describe_os_error(error: OSError) -> str:
    """Return the reason for a file that the system does not open."""
    return f"could not be opened ({(error.strerror or type(error).__name__).lower()})"


def _describe_tables(path: Path, *, uniform: bool) -> Document | None:
    """Describe a file of tables; return None for a text file that contains no table, or no uniform one if asked."""
    from tenure.sources.parsers.table_text import describe_table_file

    try:
        return describe_table_file(path, uniform=uniform)
    except Unreadable:
        # Text without a table is still parsed as text.
        if path.suffix.lower() in _TEXT_TABLES:
            return None
        raise


def _parse_text(text: str, name: str, suffix: str) -> Document:
    declared = find_format(suffix)
    if suffix in _MAY_BE_FEED and _FEED.match(text):
        declared = find_format(".rss")
    elif suffix in _CODE or name.lower() in _CODE_NAMES or (not suffix and text.startswith("#!")):
        return Document(title=name, text=strip_lines(text), kind="code")
    elif declared is None:
        declared = find_format(".html" if is_markup(text) else ".txt")
    assert declared is not None  # the formats of feeds, pages and plain text are always there
    return declared.load_text_parser()(text)
