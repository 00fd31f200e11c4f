"""Write markup to the normal form block by block: for books, feeds, and pages without a main text."""

import re
from collections.abc import Iterator
from typing import Final

from lxml import etree
from lxml.html import HtmlElement

from tenure.sources.document.document import EmbeddedPicture
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace

_HIDDEN_TAGS: Final = frozenset(("head", "script", "style", "noscript", "template", "svg", "math", "object", "iframe"))
_INLINE: Final = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr".split()
)
_HEADING = re.compile(r"h([1-6])")  # "h2".
_TEXTS = etree.XPath(".//text()[not(ancestor::script or ancestor::style)]")


def write_blocks(form: NormalFormWriter, root: HtmlElement) -> list[EmbeddedPicture]:
    """Write all text of an element; return its pictures, which are named by their addresses and not loaded."""
    writer = _BlockWriter(form)
    writer.walk(root)
    writer.end_paragraph()
    return writer.pictures


class _BlockWriter:
    """Writer that collects inline text until a block starts or ends."""

    def __init__(self, form: NormalFormWriter) -> None:
        self._form = form
        self._words: list[str] = []
        self._images: list[HtmlElement] = []
        self.pictures: list[EmbeddedPicture] = []

    def end_paragraph(self) -> None:
        words, self._words = "".join(self._words), []
        self._form.add_paragraph(words)
        if self._images and not self._form.is_in_item:
            self.pictures += [describe_image(image, self._form.length) for image in self._images]
            self._images.clear()

    def walk(self, element: HtmlElement) -> None:
        """Write an element without its tail."""
        # Comments and processing instructions have no tag name.
        if not isinstance(element.tag, str) or element.tag in _HIDDEN_TAGS:
            return
        if element.tag == "img":
            self._images.append(element)
        elif element.tag in _INLINE:
            self._inside(element)
        elif element.tag == "br":
            self._words.append(" ")
        else:
            self.end_paragraph()
            self._block(element)
            self.end_paragraph()

    def _inside(self, element: HtmlElement) -> None:
        self._words.append(element.text or "")
        for child in element:
            self.walk(child)
            self._words.append(child.tail or "")

    def _block(self, element: HtmlElement) -> None:
        if heading := _HEADING.fullmatch(element.tag):
            self._form.add_heading(int(heading[1]), _get_text(element))
        elif element.tag in ("pre", "textarea"):
            self._form.add_literal("".join(_TEXTS(element)))
        elif element.tag == "tr":
            self._form.add_row([_get_text(cell) for cell in element if cell.tag in ("td", "th")])
        elif element.tag in ("ul", "ol", "menu"):
            self._list(element)
        else:
            self._inside(element)

    def _list(self, element: HtmlElement) -> None:
        self._form.open_list(1 if element.tag == "ol" else None)
        for child in element:
            if child.tag == "li":
                self._form.open_item()
                self._inside(child)
                self.end_paragraph()
                self._form.close_item()
            else:
                self.walk(child)
            self._words.append(child.tail or "")
            self.end_paragraph()
        self._form.close_list()


def describe_image(image: HtmlElement, start: int) -> EmbeddedPicture:
    """Return the picture of an element, which is not loaded."""
    return EmbeddedPicture(start, image.get("src", "").strip(), collapse_whitespace(image.get("alt", "")), None)


def _get_text(element: HtmlElement) -> str:
    """Return the text of a heading or a cell, with blanks where blocks in it start and end."""
    return "".join(_iterate_words(element))


def _iterate_words(element: HtmlElement) -> Iterator[str]:
    if not isinstance(element.tag, str) or element.tag in _HIDDEN_TAGS:
        return
    border = "" if element.tag in _INLINE else " "
    yield border
    yield element.text or ""
    for child in element:
        yield from _iterate_words(child)
        yield child.tail or ""
    yield border
