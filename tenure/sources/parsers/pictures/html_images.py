"""Find the pictures of a web page and their places in its main text, which has no marks of them."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from lxml.html import HtmlElement

from tenure.sources.document.document import EmbeddedPicture, Unreadable
from tenure.sources.document.normal_form import collapse_whitespace
from tenure.sources.parsers.html_blocks import describe_image
from tenure.sources.parsers.pictures.neighbours import is_data_address, read_data_address

_MAX_IMAGES: Final = 1_000
_DATA_PREFIX: Final = "data:"
_ANCHOR_CHARACTERS: Final = 60
"""Characters before a picture, or of its caption, by which its place is found in the main text."""
_MIN_ANCHOR_CHARACTERS: Final = 12
_SKIPPED: Final = frozenset(("script", "style", "head", "noscript", "template"))


class PageImage(NamedTuple):
    """Picture of a page, with the texts by which its place is found."""

    picture: EmbeddedPicture
    caption: str
    """Beginning of its caption; empty without one."""
    before: str
    """End of the text before it."""


def list_images(tree: HtmlElement) -> list[PageImage]:
    """Return the pictures of a page in reading order, those of data addresses with their content."""
    images: list[PageImage] = []
    for number, (image, before) in enumerate(_iterate_images(tree)):
        if number == _MAX_IMAGES:
            break
        figure = next(image.iterancestors("figure"), None)
        caption = figure.find(".//figcaption") if figure is not None else None
        text = collapse_whitespace("".join(caption.itertext())) if caption is not None else ""
        picture = describe_image(image, 0)
        if is_data_address(picture.part):
            try:
                content = read_data_address(picture.part)
            except Unreadable:
                content = b""  # reported as damaged where pictures are read
            picture = picture._replace(part=f"{_DATA_PREFIX}{number}", data=content)
        # The main text often lacks captions.
        picture = picture._replace(description=text or picture.description)
        images.append(PageImage(picture, text[:_ANCHOR_CHARACTERS], before))
    return images


def load_data_image(tree: HtmlElement, part: str) -> bytes:
    """Return the picture of a data address that `list_images` has named.

    Raises:
        Unreadable: it is missing or damaged.
    """
    for number, (image, _) in enumerate(_iterate_images(tree)):
        if part == f"{_DATA_PREFIX}{number}":
            return read_data_address(image.get("src", "").strip())
    raise Unreadable("has no such picture")


def place_images(images: Sequence[PageImage], text: str) -> Iterator[EmbeddedPicture]:
    """Yield the pictures whose caption, or whose text before them, is in the main text."""
    position = 0
    for image in images:
        at = text.find(image.caption, position) if image.caption else -1
        if at >= 0:
            # The caption is the paragraph after the picture.
            yield image.picture._replace(start=max(at - 2, 0))
        elif len(image.before) >= _MIN_ANCHOR_CHARACTERS and (at := text.find(image.before, position)) >= 0:
            end = text.find("\n\n", at + len(image.before))
            yield image.picture._replace(start=end if end >= 0 else len(text))
        position = max(position, at)


def _iterate_images(tree: HtmlElement) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the pictures of a page, each with the end of the text before it."""
    before = ""
    for event, element in _walk(tree):
        if event == "start" and element.tag == "img":
            yield element, before
        text = collapse_whitespace((element.text if event == "start" else element.tail) or "")
        before = text[-_ANCHOR_CHARACTERS:] if text else before


def _walk(tree: HtmlElement) -> Iterator[tuple[str, HtmlElement]]:
    """Yield the start and the end of each visible element in order."""
    if not isinstance(tree.tag, str) or tree.tag in _SKIPPED:
        yield "end", tree
        return
    yield "start", tree
    for child in tree:
        yield from _walk(child)
    yield "end", tree
