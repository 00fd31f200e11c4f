"""Parse EPUB: the chapters of a book in the order of its spine."""

import io
import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from lxml.etree import _Element

from tenure.sources.document.decode import decode
from tenure.sources.document.document import Document, EmbeddedPicture, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, clean_text, collapse_whitespace
from tenure.sources.document.zip_package import PACKAGE_ERRORS, check_package, parse_xml
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree, remove_hidden
from tenure.sources.parsers.registry import Format

EPUB: Final = Format(
    parser="parse_epub",
    description="books, chapter by chapter, with their pictures, unless they are protected",
    suffixes=(".epub",),
    media_types=("application/epub+zip",),
    is_binary=True,
    package_member=b"mimetypeapplication/epub+zip",
)

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION_FILES = frozenset(("META-INF/rights.xml", "META-INF/license.lcpl", "META-INF/sinf.xml"))
_PAGE_MEDIA_TYPES = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml"))


def parse_epub(data: bytes, limit_bytes: int) -> Document:
    """Parse a book."""
    try:
        check_package(data, limit_bytes, "another format")
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            return _read_book(package)
    except PACKAGE_ERRORS as error:
        raise Unreadable("is not a valid EPUB") from error


def _read_book(package: zipfile.ZipFile) -> Document:
    if _ENCRYPTION_FILES.intersection(package.namelist()):
        raise Unreadable("is encrypted")
    container = parse_xml(package.read(_CONTAINER))
    at = next((element.get("full-path", "") for element in container.iter("{*}rootfile")), "")
    book = parse_xml(package.read(at))
    form, pictures = NormalFormWriter(), list[EmbeddedPicture]()
    for name in _iterate_chapters(book, posixpath.dirname(at)):
        # A missing chapter does not make the book unreadable.
        if name in package.namelist():
            tree = parse_html_tree(clean_text(decode(package.read(name))))
            remove_hidden(tree)
            pictures += _load_pictures(package, posixpath.dirname(name), write_blocks(form, tree))
    return Document(
        title=_get_metadata(book, "title") or form.first_heading,
        text=form.text,
        kind="prose",
        author=_get_metadata(book, "creator"),
        published=_get_metadata(book, "date"),
        pictures=tuple(pictures),
    )


def _load_pictures(
    package: zipfile.ZipFile, folder: str, pictures: Iterable[EmbeddedPicture]
) -> Iterator[EmbeddedPicture]:
    """Yield the pictures of a chapter that are in the book."""
    for picture in pictures:
        name = posixpath.normpath(posixpath.join(folder, unquote(picture.part)))
        if name in package.NameToInfo:
            yield picture._replace(part=name, data=package.read(name))


def _iterate_chapters(book: _Element, folder: str) -> Iterator[str]:
    items = {item.get("id"): item for item in book.iter("{*}item")}
    for reference in book.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _PAGE_MEDIA_TYPES:
            yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))


def _get_metadata(book: _Element, name: str) -> str:
    return ", ".join(filter(None, (collapse_whitespace("".join(tag.itertext())) for tag in book.iter(f"{{*}}{name}"))))
