"""Parse ODT: headings, paragraphs, lists and tables of an OpenDocument text."""

import io
import zipfile
from typing import Final

from lxml import etree

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.document.zip_package import PACKAGE_ERRORS, check_package, parse_xml
from tenure.sources.parsers.registry import Format

ODT: Final = Format(
    parser="parse_odt",
    description="OpenDocument texts: headings, lists and tables",
    suffixes=(".odt",),
    media_types=("application/vnd.oasis.opendocument.text",),
    is_binary=True,
    package_member=b"mimetypeapplication/vnd.oasis.opendocument.text",
)

_SPACES = frozenset(("s", "tab", "line-break"))
_UNSAID = frozenset(("annotation", "note", "tracked-changes", "sequence-decls", "table-of-content"))
_LEVEL = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}outline-level"
_MAX_DEPTH = 200


def parse_odt(data: bytes, limit_bytes: int) -> Document:
    """Parse an OpenDocument text."""
    try:
        check_package(data, limit_bytes, "another format")
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            if b"encryption-data" in package.read("META-INF/manifest.xml"):
                raise Unreadable("is encrypted")
            content = parse_xml(package.read("content.xml"))
            about = parse_xml(package.read("meta.xml")) if "meta.xml" in package.namelist() else content
    except PACKAGE_ERRORS as error:
        raise Unreadable("is not a valid OpenDocument text") from error
    form = NormalFormWriter()
    for text in content.iter("{*}text"):
        _write(form, text, 0)
        break
    return Document(
        title=_said(about, "title") or form.first_heading,
        text=form.text,
        kind="prose",
        author=_said(about, "initial-creator") or _said(about, "creator"),
        published=_said(about, "creation-date")[:10],
    )


def _write(form: NormalFormWriter, parent: etree._Element, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise Unreadable("is nested too deeply")
    for element in parent.iterchildren("{*}*"):
        match etree.QName(element).localname:
            case "h":
                level = element.get(_LEVEL, "1")
                form.add_heading(int(level) if level.isdecimal() else 1, _get_text(element))
            case "p":
                form.add_paragraph(_get_text(element))
            case "table-row":
                form.add_row([_get_text(cell) for cell in element.iterchildren("{*}table-cell")])
            case "list":
                form.open_list()
                _write(form, element, depth + 1)
                form.close_list()
            case "list-item":
                form.open_item()
                _write(form, element, depth + 1)
                form.close_item()
            case name if name not in _UNSAID:
                _write(form, element, depth + 1)


def _get_text(element: etree._Element) -> str:
    """Return the text of an element; spaces, tabs and breaks are elements."""
    texts = [element.text or ""]
    for child in element:
        name = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if name in _SPACES or name == "p":
            texts.append(" ")
        if name not in _SPACES and name not in _UNSAID and name:
            texts.append(_get_text(child))
        texts.append(child.tail or "")
    return "".join(texts)


def _said(about: etree._Element, name: str) -> str:
    return next((collapse_whitespace("".join(node.itertext())) for node in about.iter(f"{{*}}{name}")), "")
