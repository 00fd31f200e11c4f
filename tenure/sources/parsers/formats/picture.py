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


def parse_picture(data: bytes, limit_bytes: int = 0) -> Document:
    """Recognize the text of a picture; `limit_bytes` has no effect.

    Raises:
        Unreadable: it is damaged, too large, or has no legible text, or the extra is missing.
    """
    if not recognition.is_available():
        raise Unreadable(f"is a picture, and {recognition.MISSING}")
    from PIL import Image, ImageSequence

    Image.MAX_IMAGE_PIXELS = None  # `load_pixels` checks the size, before anything is decoded
    pages: list[list[PageLine]] = []
    rest = ""
    try:
        with Image.open(io.BytesIO(data)) as picture:
            for number, frame in enumerate(ImageSequence.Iterator(picture)):
                if number == _MAX_PAGES:
                    rest = f"a file may have {_MAX_PAGES} pages"
                elif not number or picture.format == "TIFF":  # the frames of an animation show the same
                    pages.append(recognition.recognize(load_pixels(frame)))
                    continue
                break
    except recognition.Unavailable as error:
        rest = str(error)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        rest = "the file is damaged"
        if not any(pages):
            raise Unreadable("is a damaged picture") from error
    if not any(pages):
        raise Unreadable(f"is a picture, and {rest}" if rest else "is a picture without legible text")
    return replace(write_pages(pages), unread=rest and f"was read to page {len(pages)}: {rest}")
