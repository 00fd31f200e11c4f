"""Parse pictures with Pillow and recognize their text; each page of a TIFF file is a page."""

import io
from dataclasses import replace
from typing import Any, Final

import numpy as np

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers import recognition
from tenure.sources.parsers.page_lines import PageLine, write_pages
from tenure.sources.parsers.registry import Format

PICTURE: Final = Format(
    parser="parse_picture",
    description="scans, photographs and screenshots: recognized text, with the extra `ocr`",
    suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"),
    is_binary=True,
)

MIN_SIDE: Final = 60
"""Pixels below which the shorter side of a picture has no room for lines of text: icons and bars."""
MAX_PIXELS: Final = 120_000_000
"""Pixels of a picture that is decoded: 360 MB of memory, of 2,048 that a reader has."""
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


def load_pixels(picture: Any) -> recognition.Image:
    """Decode a picture of Pillow, upright and on white, at the size at which text is recognized.

    Raises:
        Unreadable: it is too small or too large.
        OSError: it is damaged.
    """
    from PIL import Image, ImageOps

    if min(picture.size) < MIN_SIDE:
        raise Unreadable("is a picture too small for text")
    if picture.width * picture.height > MAX_PIXELS:
        raise Unreadable(f"is a picture of more than {MAX_PIXELS // 1_000_000} megapixels")
    picture.draft("RGB", (recognition.MAX_SIDE, recognition.MAX_SIDE))
    picture = ImageOps.exif_transpose(picture)
    picture.thumbnail((2 * recognition.MAX_SIDE, 2 * recognition.MAX_SIDE))
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])
