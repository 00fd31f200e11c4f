"""Parse ODT and ODP: the text of an OpenDocument text, and the slides of an OpenDocument presentation."""

import io
import zipfile
from dataclasses import replace
from typing import Final

from lxml import etree

from tenure.contracts.evidence.corpora import NO_TEXT
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.document.zip_package import PACKAGE_ERRORS, check_package, parse_xml
from tenure.sources.parsers.registry import Format

ODT: Final = Format(
    parser="parse_odt",
    description="OpenDocument texts: headings, lists, tables, notes, comments, headers and footers",
    suffixes=(".odt",),
    media_types=("application/vnd.oasis.opendocument.text",),
    is_binary=True,
    package_member=b"mimetypeapplication/vnd.oasis.opendocument.text",
)

ODP: Final = Format(
    parser="parse_odp",
    description="OpenDocument presentations, slide by slide: text, tables and notes",
    suffixes=(".odp",),
    media_types=("application/vnd.oasis.opendocument.presentation",),
    is_binary=True,
    package_member=b"mimetypeapplication/vnd.oasis.opendocument.presentation",
)

_SPACES = frozenset(("s", "tab", "line-break"))
_UNSAID = frozenset(("annotation", "note", "tracked-changes", "sequence-decls", "table-of-content"))
_LEVEL = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}outline-level"
_CLASS = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}class"
_NOTE_CLASS = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}note-class"
_NOTES = {"endnote": "Endnote"}
_MAX_DEPTH = 200


def parse_odt(data: bytes, limit_bytes: int) -> Document:
    """Parse an OpenDocument text."""
    content, about, styles = _read_package(data, limit_bytes)
    form = NormalFormWriter()
    for text in content.iter("{*}text"):
        _write(form, text, 0)
        break
    for kind in ("header", "footer"):
        for words in dict.fromkeys(collapse_whitespace(_get_text(head)) for head in styles.iter(f"{{*}}{kind}")):
            # The number of a page alone says nothing.
            if any(map(str.isalpha, words)):
                form.add_paragraph(f"{kind.capitalize()}: {words}")
    return _build_document(form, about)


def parse_odp(data: bytes, limit_bytes: int) -> Document:
    """Parse an OpenDocument presentation."""
    content, about, _ = _read_package(data, limit_bytes)
    form, pages = NormalFormWriter(), []
    slides = (page for presentation in content.iter("{*}presentation") for page in presentation.iterchildren("{*}page"))
    for number, slide in enumerate(slides, 1):
        pages.append(form.length + 2 if number > 1 else 0)
        title = next((frame for frame in slide.iterchildren("{*}frame") if frame.get(_CLASS) == "title"), None)
        words = collapse_whitespace(_get_text(title)) if title is not None else ""
        form.add_heading(1, words or f"Slide {number}")
        if title is not None:
            slide.remove(title)
        _write(form, slide, 0)
    if form.text == "\n\n".join(f"# Slide {number}" for number in range(1, len(pages) + 1)):
        raise Unreadable(NO_TEXT)
    return replace(_build_document(form, about), pages=tuple(pages))


def _read_package(data: bytes, limit_bytes: int) -> tuple[etree._Element, etree._Element, etree._Element]:
    """Return content, metadata and styles; the content again for a missing one."""
    try:
        check_package(data, limit_bytes, "another format")
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = package.namelist()
            content, about, styles = (
                parse_xml(package.read(name if name in names else "content.xml"))
                for name in ("content.xml", "meta.xml", "styles.xml")
            )
    except PACKAGE_ERRORS as error:
        raise Unreadable("is not a valid OpenDocument file") from error
    return content, about, styles


def _build_document(form: NormalFormWriter, about: etree._Element) -> Document:
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
                _write_remarks(form, element)
            case "p":
                form.add_paragraph(_get_text(element))
                _write_remarks(form, element)
            case "table":
                _write(form, element, depth + 1)
                _write_remarks(form, element)
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


def _write_remarks(form: NormalFormWriter, element: etree._Element) -> None:
    """Write the notes and comments of a block after it."""
    for remark in element.iter("{*}note", "{*}annotation"):
        name = "Comment" if etree.QName(remark).localname == "annotation" else _NOTES.get(remark.get(_NOTE_CLASS, ""))
        texts = [_get_text(paragraph) for paragraph in remark.iter("{*}p")]
        form.add_paragraph(f"{name or 'Footnote'}: {' '.join(texts)}" if any(texts) else "")


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
