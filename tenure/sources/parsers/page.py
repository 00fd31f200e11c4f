"""The door for what came from the web: bytes in, a page in normal form out, or the reason why not.

First bytes that cannot lie decide, then the media type that the server named, then the suffix of the address.
"""

import re
import tempfile
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from tenure.sources.document.decode import decode
from tenure.sources.document.document import Document, Page, Unreadable
from tenure.sources.document.normal_form import clean
from tenure.sources.parsers.parse import (
    DEFAULT_LIMIT_BYTES,
    is_known,
    is_markup,
    parse,
    parse_bytes,
    readable_name,
    sniffed,
    titled,
)
from tenure.sources.tables.catalogue import FORMATS

_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_SUFFIXES: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.apache.parquet": ".parquet",
    "application/epub+zip": ".epub",
    "application/x-ipynb+json": ".ipynb",
    "application/rss+xml": ".rss",
    "application/atom+xml": ".atom",
    "application/rdf+xml": ".rdf",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "text/x-rst": ".rst",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/x-ndjson": ".jsonl",
}
"""What servers call formats, when they call them anything that tells."""
_FAMILIES: Final = {"application/json": ".json", "application/xml": ".xml", "text/xml": ".xml"}
"""What they call whole families of formats: the address may know better."""
_FOREIGN: Final = {"image": "is an image", "audio": "is a sound", "video": "is a video", "font": "is a font"}
_UNSAFE = re.compile(r"[^\w.-]+")
_HEAD: Final = 4096
_LONGEST_NAME: Final = 80
_LONGEST: Final = 500_000
"""Characters of a page that are kept, those of a book: all of them are embedded."""


def parse_page(body: bytes, media_type: str, charset: str, address: str) -> Page:
    """Read what a server sent.

    Args:
        body: All of it, unpacked.
        media_type: What the server calls it, without parameters; may be empty.
        charset: What the server says it is written in; may be empty.
        address: Where it was found, after redirects.

    Raises:
        Unreadable: if it cannot be read, whatever the cause.
    """
    if not body.strip():
        raise Unreadable("is empty")
    if len(body) > DEFAULT_LIMIT_BYTES:
        raise Unreadable(f"is larger than {DEFAULT_LIMIT_BYTES / 1e6:g} MB")
    name = _name(address)
    suffix = sniffed(body, _suffix(media_type, name))
    if suffix == ".html" or _is_page(body):
        page = _web_page(body, charset, address)
    else:
        table = suffix in FORMATS
        document = _table(body, name, suffix) if table else parse_bytes(body, name, suffix, charset=charset)
        page = Page(document, address, site=_host(address))
    document = titled(page.document, _title(name, address))
    if len(document.text) <= _LONGEST:
        return replace(page, document=document)
    return replace(page, document=replace(document, text=_beginning(document.text)), shortened=True)


def _web_page(body: bytes, charset: str, address: str) -> Page:
    from tenure.sources.parsers.html import parse_web_page

    try:
        return parse_web_page(clean(decode(body, charset)), address)
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error


def _beginning(text: str) -> str:
    """Return the beginning of a long text, whole blocks unless the last one is itself very long."""
    end = text.rfind("\n\n", _LONGEST // 2, _LONGEST)
    return text[: end if end > 0 else _LONGEST].rstrip()


def _table(body: bytes, name: str, suffix: str) -> Document:
    """Read a table through a file, since that is what the engine for tables reads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{PurePosixPath(name).stem or 'table'}{suffix}")
        path.write_bytes(body)
        return parse(path)


def _is_page(body: bytes) -> bool:
    """Tell whether bytes begin as a page does, whatever the server calls them."""
    return is_markup(body[:_HEAD].lstrip(b"\xef\xbb\xbf\xfe\xff").replace(b"\0", b"").decode("latin-1"))


def _suffix(media_type: str, name: str) -> str:
    """Return the suffix of what a server sent, by what it calls it, or else by its address."""
    kind = media_type.strip().lower()
    if reason := _FOREIGN.get(kind.partition("/")[0]):
        raise Unreadable(reason)
    suffix = PurePosixPath(name).suffix.lower()
    return _SUFFIXES.get(kind) or (suffix if is_known(suffix) else _FAMILIES.get(kind, suffix))


def _name(address: str) -> str:
    """Return the last part of an address's path as the name of a file."""
    return _UNSAFE.sub("_", unquote(PurePosixPath(urlsplit(address).path).name))[-_LONGEST_NAME:]


def _title(name: str, address: str) -> str:
    return readable_name(Path(name)) if name else _host(address)


def _host(address: str) -> str:
    return urlsplit(address).netloc.removeprefix("www.")
