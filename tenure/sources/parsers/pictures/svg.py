"""Read the text of an SVG drawing, and draw it as a bitmap.

The process that reads documents bounds time and memory.
"""

import io
import re
from typing import Final

from lxml import etree

from tenure.sources.document.document import Unreadable
from tenure.sources.document.normal_form import collapse_whitespace

_MAX_BYTES: Final = 5_000_000
"""Bytes of a drawing: a plot with 50,000 points has 2 MB."""
_MAX_CHARACTERS: Final = 20_000
"""Characters of text: the labels of a large diagram have 3,000."""
_SIDE: Final = 1200
"""Pixels of the longer side of the bitmap."""
# "<?xml …?><!-- Created with … --><svg xmlns=…" or "<svg:svg …", within the first bytes.
_START: Final = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--|!DOCTYPE|(?:\w+:)?svg[\s>])")
_ROOT: Final = re.compile(rb"<(?:\w+:)?svg[\s>]")
# "data:image/png;base64,…"; a drawing in a drawing may link files again.
_BITMAP: Final = re.compile(r"\s*data:image/(?:png|jpe?g|gif|webp)\b", re.IGNORECASE)
_HEAD_BYTES: Final = 4_000
_PAGE: Final = (
    f"#set page(width: {_SIDE}pt, height: {_SIDE}pt, margin: 0pt)\n"
    f'#image(bytes(sys.inputs.svg), format: "svg", width: {_SIDE}pt, height: {_SIDE}pt, fit: "contain")'
)


def is_svg(data: bytes) -> bool:
    """Return whether a file is an SVG drawing."""
    return bool(_START.match(data) and _ROOT.search(data[:_HEAD_BYTES]))


def read_svg_text(data: bytes) -> str:
    """Return the title, the description and the labels of a drawing, one a line.

    Raises:
        Unreadable: it is too large, damaged, or declares entities.
    """
    labels = _parse(data).iter("{*}title", "{*}desc", "{*}text")
    texts = (collapse_whitespace("".join(label.itertext())) for label in labels)
    return "\n".join(dict.fromkeys(filter(None, texts)))[:_MAX_CHARACTERS]


def draw_svg(data: bytes) -> bytes:
    """Return a drawing as a PNG image, without the pictures that it links.

    Raises:
        Unreadable: it is too large, damaged, or declares entities.
    """
    import typst
    from PIL import Image, ImageOps

    root = _parse(data)
    for picture in [*root.iter("{*}image", "{*}feImage")]:
        # Typst would look for linked files below the working directory.
        for name in list(picture.keys()):
            if etree.QName(name).localname == "href" and not _BITMAP.match(picture.get(name, "")):
                del picture.attrib[name]
    text = etree.tostring(root, encoding="unicode")
    try:
        drawn = typst.compile(_PAGE.encode(), format="png", ppi=72, sys_inputs={"svg": text})
    except typst.TypstError as error:
        raise Unreadable("is a damaged drawing") from error
    if not isinstance(drawn, bytes):
        raise TypeError("Typst drew a picture as several files")
    with Image.open(io.BytesIO(drawn), formats=("PNG",)) as image:
        white = image.convert("RGB")
    buffer = io.BytesIO()
    white.crop(ImageOps.invert(white).getbbox() or (0, 0, 1, 1)).save(buffer, "PNG")
    return buffer.getvalue()


def _parse(data: bytes) -> etree._Element:
    if len(data) > _MAX_BYTES:
        raise Unreadable(f"is a drawing of more than {_MAX_BYTES // 1_000_000} MB")
    if b"<!ENTITY" in data:
        raise Unreadable("is a drawing that declares entities")
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable("is a damaged drawing") from error
