"""EPUB to the normal form: the chapters of a book in the order of its spine."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

from lxml.etree import _Element

from tenure.sources.document.decode import decode
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalForm, clean, one_line
from tenure.sources.document.zip_package import DAMAGE, check_package, xml
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import drop_hidden, html_tree

_CONTAINER = "META-INF/container.xml"
_RIGHTS = frozenset(("META-INF/rights.xml", "META-INF/license.lcpl", "META-INF/sinf.xml"))
_PAGES = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml"))


def parse_epub(data: bytes, limit_bytes: int) -> Document:
    """Read a book.

    Raises:
        Unreadable: if it is encrypted or damaged, or unpacks to far more than the limit.
    """
    try:
        check_package(data, limit_bytes, "another format")
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            return _read(package)
    except DAMAGE as error:
        raise Unreadable("is not a valid EPUB") from error


def _read(package: zipfile.ZipFile) -> Document:
    if _RIGHTS.intersection(package.namelist()):
        raise Unreadable("is encrypted")
    container = xml(package.read(_CONTAINER))
    at = next((element.get("full-path", "") for element in container.iter("{*}rootfile")), "")
    book = xml(package.read(at))
    form = NormalForm()
    for name in _chapters(book, posixpath.dirname(at)):
        # A chapter that the book only speaks of is no reason to refuse the others.
        if name in package.namelist():
            tree = html_tree(clean(decode(package.read(name))))
            drop_hidden(tree)
            write_blocks(form, tree)
    return Document(
        title=_said(book, "title") or form.first_heading,
        text=form.text,
        kind="prose",
        author=_said(book, "creator"),
        published=_said(book, "date"),
    )


def _chapters(book: _Element, folder: str) -> Iterator[str]:
    """Yield the names of the chapters inside the package, in reading order."""
    items = {item.get("id"): item for item in book.iter("{*}item")}
    for reference in book.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _PAGES:
            yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))


def _said(book: _Element, name: str) -> str:
    """Return what the book's description says under a name of the Dublin Core."""
    return ", ".join(filter(None, (one_line("".join(one.itertext())) for one in book.iter(f"{{*}}{name}"))))
