"""Draw a figure of a document again from its file, for a model, for a report and for the page."""

import io
import zipfile
from pathlib import Path
from typing import Final

import pypdfium2
from PIL import Image

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

_PDF: Final = b"%PDF-"
_PACKAGE: Final = b"PK\x03\x04"


def draw_figure(data: bytes, path: Path, figure: Figure, side: int) -> Image.Image:
    """Return a figure of a file; its longer side has at most a number of pixels.

    Raises:
        Unreadable: the file is damaged, or has no such picture.
    """
    try:
        if data.startswith(_PDF):
            return _draw_pdf(data, figure, side)
        with Image.open(io.BytesIO(_load_part(data, path, figure.part)), formats=PICTURE_FORMATS) as picture:
            image = Image.fromarray(load_pixels(picture)[:, :, ::-1])
    except (*PACKAGE_ERRORS, pypdfium2.PdfiumError, OSError, Image.DecompressionBombError) as error:
        raise Unreadable("is damaged") from error
    image.thumbnail((side, side))
    return image


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
