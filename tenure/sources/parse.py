"""One door to all parsers: a file in, a document in normal form out, or the reason why not.

The suffix decides; a file whose suffix says nothing is judged by its first bytes. A file never stops a
run: whatever is wrong with it is `Unreadable`.
"""

import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from tenure.sources.decode import decode, is_binary
from tenure.sources.document import Document, Unreadable
from tenure.sources.normal_form import clean, one_line, strip_lines
from tenure.sources.plain_text import parse_log, parse_plain, parse_table

DEFAULT_LIMIT_BYTES: Final = 50_000_000
"""Size above which a file is not read."""


# The parsers of these formats are loaded with the first file of their kind: together they take a second
# of a start that mostly reads Markdown.
def _markdown(text: str) -> Document:
    from tenure.sources.markdown import parse_markdown

    return parse_markdown(text)


def _rst(text: str) -> Document:
    from tenure.sources.rst import parse_rst

    return parse_rst(text)


def _web_page(text: str) -> Document:
    from tenure.sources.web_page import parse_html

    return parse_html(text)


def _pdf(data: bytes) -> Document:
    from tenure.sources.pdf import parse_pdf

    return parse_pdf(data)


def _docx(data: bytes, limit_bytes: int) -> Document:
    from tenure.sources.docx import parse_docx

    return parse_docx(data, limit_bytes)


_PROSE: dict[str, Callable[[str], Document]] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx"), _markdown),
    **dict.fromkeys((".rst", ".rest"), _rst),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _web_page),
    **dict.fromkeys((".txt", ".text", ".adoc", ".org", ".tex"), parse_plain),
    ".log": parse_log,
    ".csv": lambda text: parse_table(text, ","),
    ".tsv": lambda text: parse_table(text, "\t"),
}
_CODE_SUFFIXES = (
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .go .rs .java .kt .kts .scala .swift .c .h .cc .hh .cpp .hpp .cxx .cs .m .mm "
    ".rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hs .ml .mli .fs .clj .el .lisp .vim .zig .nim .proto .graphql "
    ".sh .bash .zsh .fish .ps1 .bat .sql .toml .yaml .yml .json .jsonl .ini .cfg .conf .env .properties .xml .xsd .css "
    ".scss .less .vue .svelte .tf .cmake .mk .gradle .dockerfile"
)
_CODE = frozenset(_CODE_SUFFIXES.split())
_CODE_NAMES = frozenset(("dockerfile", "makefile", "justfile", "rakefile", "gemfile", "jenkinsfile", "cmakelists.txt"))
_FOREIGN = {
    "is an image": ".png .jpg .jpeg .gif .bmp .ico .webp .tif .tiff .heic .avif .psd .svg",
    "is a sound or video": ".mp3 .wav .ogg .flac .m4a .mp4 .mov .avi .mkv .webm",
    "is an archive": ".zip .tar .gz .tgz .bz2 .xz .zst .7z .rar .jar .whl .iso .deb .rpm",
    "is a program": ".exe .dll .so .dylib .o .a .lib .class .pyc .pyo .pyd .wasm .bin",
    "is a font": ".ttf .otf .woff .woff2",
    "is a word processor's file, which Tenure does not read": ".doc .rtf .odt .pages .epub",
    "is a notebook, which Tenure does not read": ".ipynb",
    "is a spreadsheet, which Tenure does not read": ".xls .xlsx .ods",
    "is a presentation, which Tenure does not read": ".ppt .pptx .odp",
}
_REASONS = {suffix: reason for reason, suffixes in _FOREIGN.items() for suffix in suffixes.split()}
_MARKUP = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
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
    data = _load(path, limit_bytes)
    try:
        document = _dispatch(path, suffix, data, limit_bytes)
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error
    if not document.text:
        raise Unreadable("has no text")
    title = one_line(document.title) or readable_name(path)
    return replace(document, title=title, author=one_line(document.author), published=one_line(document.published))


def readable_name(path: Path) -> str:
    """Return a file's name as a title: without suffix, words separated by spaces."""
    return one_line(_NAME_SEPARATORS.sub(" ", path.stem)) or path.name


def _load(path: Path, limit_bytes: int) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable("is a folder that cannot be listed")
        # A pipe or a device would be read for ever.
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("is not a regular file")
        if status.st_size > limit_bytes:
            raise Unreadable(f"is larger than {limit_bytes / 1e6:g} MB")
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"could not be opened ({(error.strerror or type(error).__name__).lower()})") from error
    if not data.strip():
        raise Unreadable("is empty")
    return data


def _dispatch(path: Path, suffix: str, data: bytes, limit_bytes: int) -> Document:
    if suffix == ".pdf" or data.startswith(b"%PDF-"):
        return _pdf(data)
    if suffix == ".docx" or (suffix not in _PROSE and _is_word(data)):
        return _docx(data, limit_bytes)
    if suffix not in _PROSE and is_binary(data):
        raise Unreadable("is a binary file")
    text = clean(decode(data))
    if suffix in _CODE or path.name.lower() in _CODE_NAMES or (not suffix and text.startswith("#!")):
        return Document(title=path.name, text=strip_lines(text), kind="code")
    if suffix not in _PROSE and _MARKUP.match(text):
        return _web_page(text)
    return _PROSE.get(suffix, parse_plain)(text)


def _is_word(data: bytes) -> bool:
    return data.startswith(b"PK\x03\x04") and b"word/document.xml" in data
