"""Decode pictures, and draw parts of PDF pages, as the text recognition takes them."""

from typing import Any, Final

import numpy as np
import pypdfium2

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers import recognition

MIN_SIDE: Final = 60
"""Pixels below which the shorter side of a picture has no room for lines of text: icons and bars."""
MAX_PIXELS: Final = 120_000_000
"""Pixels of a picture that is decoded: 360 MB of memory, of 2,048 that a reader has."""
_MAX_SCALE: Final = 6.0
"""Scale up to which a part of a page is drawn: 432 dots per inch."""


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


def render_box(
    page: pypdfium2.PdfPage, box: tuple[float, float, float, float], side: int = recognition.MAX_SIDE
) -> recognition.Image:
    """Draw a part of a page, whose longer side has a number of pixels."""
    width, height = page.get_size()
    left, top, right, bottom = box[0] * width, box[1] * height, box[2] * width, box[3] * height
    scale = min(side / max(right - left, bottom - top, 1.0), _MAX_SCALE)
    bitmap = page.render(scale=scale, crop=(left, height - bottom, width - right, top), rev_byteorder=False)
    return np.asarray(bitmap.to_numpy()[:, :, :3])
