"""Parse responses of web servers into pages in normal form, or raise `Unreadable` with the reason.

The format is chosen by the signature of the content, then by the media type, then by the suffix of the URL.
"""

import re
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from tenure.contracts.evidence.corpora import EMPTY
from tenure.sources.document.decode import decode
from tenure.sources.document.document import Unreadable, WebDocument
from tenure.sources.document.normal_form import clean_text
from tenure.sources.parsers.parse import (
    DEFAULT_LIMIT_BYTES,
    complete_metadata,
    detect_suffix,
    is_markup,
    is_supported,
    make_title,
    parse_content,
)
from tenure.sources.parsers.registry import find_suffix
from tenure.sources.tables.catalogue import TABLE_MEDIA_TYPES

_FAMILIES: Final = {"application/json": ".json", "application/xml": ".xml", "text/xml": ".xml"}
"""Media types of families of formats; a known suffix of the URL is more precise."""
_UNSUPPORTED: Final = {"image": "is an image", "audio": "is a sound", "video": "is a video", "font": "is a font"}
_UNSAFE = re.compile(r"[^\w.-]+")  # Every "/" and space of a file name, for example.
_SNIFFED_BYTES: Final = 4096
_MAX_NAME_LENGTH: Final = 80
_MAX_PAGE_LENGTH: Final = 500_000
"""Maximum length of a page in characters, about that of a book: all of it is embedded."""


def parse_page(body: bytes, media_type: str, charset: str, url: str, *, is_whole: bool = False) -> WebDocument:
    """Parse the complete, decompressed body of a response; `charset` is what the server declares.

    If `is_whole`, all text of an HTML page is used, and not its main text alone.

    Raises:
        Unreadable: the body cannot be parsed, whatever the cause.
    """
    if not body.strip():
        raise Unreadable(EMPTY)
    if len(body) > DEFAULT_LIMIT_BYTES:
        raise Unreadable(f"is larger than {DEFAULT_LIMIT_BYTES / 1e6:g} MB")
    name = _UNSAFE.sub("_", unquote(PurePosixPath(urlsplit(url).path).name))[-_MAX_NAME_LENGTH:]
    suffix = detect_suffix(body, _choose_suffix(media_type, name))
    # A page may have another media type.
    head = body[:_SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf\xfe\xff").replace(b"\0", b"").decode("latin-1")
    if suffix == ".html" or is_markup(head):
        page = _parse_html(body, charset, url, is_whole=is_whole)
    else:
        page = WebDocument(parse_content(body, name, suffix, charset=charset), url)
    document = complete_metadata(page.document, make_title(Path(name)) if name else _extract_site(url))
    if len(document.text) <= _MAX_PAGE_LENGTH:
        return replace(page, document=document)
    return replace(page, document=replace(document, text=_truncate(document.text)), is_truncated=True)


def _parse_html(body: bytes, charset: str, url: str, *, is_whole: bool) -> WebDocument:
    from tenure.sources.parsers.formats.html import parse_web_page

    try:
        return parse_web_page(clean_text(decode(body, charset)), url, is_whole=is_whole)
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error


def _truncate(text: str) -> str:
    """Return the beginning of a long text, in whole blocks unless the last block is very long itself."""
    end = text.rfind("\n\n", _MAX_PAGE_LENGTH // 2, _MAX_PAGE_LENGTH)
    return text[: end if end > 0 else _MAX_PAGE_LENGTH].rstrip()


def _choose_suffix(media_type: str, name: str) -> str:
    media_type = media_type.strip().lower()
    if reason := _UNSUPPORTED.get(media_type.partition("/")[0]):
        raise Unreadable(reason)
    if declared := find_suffix(media_type) or TABLE_MEDIA_TYPES.get(media_type):
        return declared
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if is_supported(suffix) else _FAMILIES.get(media_type, suffix)


def _extract_site(url: str) -> str:
    return urlsplit(url).netloc.removeprefix("www.")
