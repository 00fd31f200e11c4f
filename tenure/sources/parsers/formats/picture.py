"""Parse pictures with Pillow and recognize their text; each page of a TIFF file is a page."""

import io
from dataclasses import replace
from typing import Final

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers import recognition
from tenure.sources.parsers.page_lines import PageLine, write_pages
from tenure.sources.parsers.pictures.pixels import load_pixels
from tenure.sources.parsers.registry import Format

PICTURE: Final = Format(
    parser="parse_picture",
    description="scans, photographs and screenshots: recognized text, with the extra `ocr`",
    suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"),
    is_binary=True,
)

_MAX_PAGES: Final = 1000
_DAMAGE: Final = (OSError, ValueError, SyntaxError)
_DAMAGED: Final = "the file is damaged"


def parse_picture(data: bytes, limit_bytes: int = 0) -> Document:
    """Recognize the text of a picture; `limit_bytes` has no effect.

    Raises:
        Unreadable: it is damaged, too large, or has no legible text, or the extra is missing.
    """
    if not recognition.is_available():
        raise Unreadable(f"is a picture, and {recognition.MISSING}")
    from PIL import ImageFile

    pages: list[list[PageLine]] = []
    unread = ""
    try:
        unread = _read_pages(data, pages)
    except _DAMAGE:
        unread = f"was read to page {len(pages)}: {_DAMAGED}"
        if not any(pages):
            # Pillow fills what a truncated file lacks.
            ImageFile.LOAD_TRUNCATED_IMAGES = True
            pages.clear()
            try:
                unread = _read_pages(data, pages) or f"was read only in part: {_DAMAGED}"
            except _DAMAGE:
                pages.clear()
            finally:
                ImageFile.LOAD_TRUNCATED_IMAGES = False
            if not any(pages):
                raise Unreadable("is a damaged picture") from None
    if not any(pages):
        reason = unread.partition(": ")[2]
        raise Unreadable(f"is a picture, and {reason}" if reason else "is a picture without legible text")
    return replace(write_pages(pages), unread=unread)


def _read_pages(data: bytes, pages: list[list[PageLine]]) -> str:
    """Add the lines of each page, and return what is left out with the reason; empty if nothing is."""
    from PIL import Image, ImageSequence

    Image.MAX_IMAGE_PIXELS = None  # `load_pixels` checks the size, before anything is decoded
    with Image.open(io.BytesIO(data)) as picture:
        for number, frame in enumerate(ImageSequence.Iterator(picture)):
            if number and picture.format != "TIFF":  # the frames of an animation show the same
                break
            if number == _MAX_PAGES:
                return f"was read to page {number}: a file may have {_MAX_PAGES} pages"
            try:
                pages.append(recognition.recognize(load_pixels(frame)))
            except recognition.Unavailable as error:
                return f"was read to page {number}: {error}"
    return ""
