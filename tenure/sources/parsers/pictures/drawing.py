"""Draw a figure of a document again from its file, for a model, for a report and for the page."""

import io
import zipfile
from pathlib import Path
from typing import Final

import pypdfium2
from PIL import Image, ImageDraw

from tenure.contracts.evidence.figures import Figure
from tenure.sources.document.decode import decode
from tenure.sources.document.document import Unreadable
from tenure.sources.document.normal_form import clean_text
from tenure.sources.document.zip_package import PACKAGE_ERRORS
from tenure.sources.parsers.html_tree import parse_html_tree, remove_hidden
from tenure.sources.parsers.pictures.embedded import PICTURE_FORMATS
from tenure.sources.parsers.pictures.html_images import load_data_image
from tenure.sources.parsers.pictures.neighbours import load_neighbour
from tenure.sources.parsers.pictures.pixels import load_pixels, render_box
from tenure.sources.parsers.pictures.svg import draw_svg, is_svg

_PDF: Final = b"%PDF-"
_QUALITY: Final = 80
"""Quality of the image: a plot of 800 × 600 pixels takes 30 to 80 kB, and its labels stay legible."""
_STRIP_WIDTH, _STRIP_HEIGHT = 240, 56
"""Pixels of the strip with a number, whose digits are 28 pixels high."""
_PACKAGE: Final = b"PK\x03\x04"


def draw_figure(data: bytes, path: Path, figure: Figure, side: int) -> Image.Image:
    """Return a figure of a file; its longer side has at most a number of pixels.

    Raises:
        Unreadable: the file is damaged, or has no such picture.
    """
    try:
        if data.startswith(_PDF):
            return _draw_pdf(data, figure, side)
        content = _load_part(data, path, figure.part)
        bitmap = draw_svg(content) if is_svg(content) else content
        with Image.open(io.BytesIO(bitmap), formats=PICTURE_FORMATS) as picture:
            image = Image.fromarray(load_pixels(picture)[:, :, ::-1])
    except (*PACKAGE_ERRORS, pypdfium2.PdfiumError, OSError, Image.DecompressionBombError) as error:
        raise Unreadable("is damaged") from error
    image.thumbnail((side, side))
    return image


def encode_figure(data: bytes, path: Path, figure: Figure, side: int, check: str) -> bytes:
    """Return a figure as a JPEG image, with a number in a strip below it unless that is empty.

    Raises:
        Unreadable: the file is damaged, or has no such picture.
    """
    image = draw_figure(data, path, figure, side)
    if check:
        picture = image
        image = Image.new("RGB", (max(picture.width, _STRIP_WIDTH), picture.height + _STRIP_HEIGHT), "white")
        image.paste(picture, (0, 0))
        ImageDraw.Draw(image).text(
            (12, picture.height + 6), f"check {check}", fill="black", font_size=_STRIP_HEIGHT // 2
        )
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY, comment=check)
    return buffer.getvalue()


def _draw_pdf(data: bytes, figure: Figure, side: int) -> Image.Image:
    with pypdfium2.PdfDocument(data) as document:
        if not 0 < figure.page <= len(document):
            raise Unreadable(f"has no page {figure.page}")
        return Image.fromarray(render_box(document[figure.page - 1], figure.box, side)[:, :, ::-1])


def _load_part(data: bytes, path: Path, part: str) -> bytes:
    """Return the content of a picture in a package, in a web page or in its folder; without a name the file itself."""
    if not part:
        return data
    if data.startswith(_PACKAGE):
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            return package.read(part)
    if part.startswith("data:"):
        tree = parse_html_tree(clean_text(decode(data)))
        remove_hidden(tree)
        return load_data_image(tree, part)
    return load_neighbour(path.parent)(part)
