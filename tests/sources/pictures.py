"""Make documents with pictures."""

import io
from pathlib import Path

import docx
import pptx
from PIL import Image, ImageDraw
from pptx.util import Inches

from tests.model_server.request import list_images
from tests.support.schema_instance import Json


def draw_picture(text: str = "", size: tuple[int, int] = (400, 300), color: str = "white") -> bytes:
    """Return a PNG with a line of text."""
    image = Image.new("RGB", size, color)
    ImageDraw.Draw(image).text((20, size[1] // 3), text, fill="black", font_size=size[1] // 8)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def make_docx_with_pictures() -> bytes:
    """Return a Word document with a captioned picture, one with an alternative text only, and an icon."""
    word = docx.Document()
    word.add_heading("Yields", 1)
    word.add_paragraph("The yield fell, as Figure 2 shows.")
    word.add_picture(io.BytesIO(draw_picture("Rye 17 t")))
    word.add_paragraph("Figure 2: Yield of rye by year.")
    word.add_paragraph("The mill stands on the river.")
    word.add_picture(io.BytesIO(draw_picture("MILL", color="lightblue")))
    for properties in word.element.xpath("//wp:docPr")[1:]:
        properties.set("descr", "A mill with three wheels")
    word.add_paragraph("The end.").add_run().add_picture(io.BytesIO(draw_picture("", (40, 40))))
    return _save(word)


def make_pptx_with_picture() -> bytes:
    """Return two slides, the second with a picture and no other text than its title."""
    talk = pptx.Presentation()
    for title in ("Start", "Yield"):
        talk.slides.add_slide(talk.slide_layouts[5]).shapes.title.text = title
    picture = talk.slides[1].shapes.add_picture(io.BytesIO(draw_picture("Rye 17 t")), Inches(1), Inches(2))
    picture._element.nvPicPr.cNvPr.set("descr", "Yield of rye in tonnes")
    return _save(talk)


def write_page_with_pictures(folder: Path) -> Path:
    """Write a web page with a file in its folder, a data address, and pictures that are not read."""
    import base64

    (folder / "img").mkdir()
    (folder / "img" / "rye plot.png").write_bytes(draw_picture("Rye 17 t"))
    data = base64.b64encode(draw_picture("MILL", color="lightblue")).decode()
    page = folder / "page.html"
    page.write_text(
        "<html><head><title>Rye</title></head><body><nav><img src='logo.png' alt='The logo of the mill'></nav><main>"
        "<h1>Rye</h1><p>The yield of rye fell in the last five years, as Figure 2 shows.</p>"
        "<figure><img src='img/rye%20plot.png'><figcaption>Figure 2: Yield of rye by year.</figcaption></figure>"
        "<p>The mill stands on the river, and it has been there for years.</p>"
        f"<p><img src='data:image/png;base64,{data}'"
        " alt='A mill with three wheels'></p><p>Nobody fetches what stands on the web or above the folder.</p>"
        "<p><img src='https://example.org/a.png' alt='A picture elsewhere'><img src='../secret.png'></p></main></body>"
    )
    return page


def read_check(request: Json) -> str:
    """Return the number below the picture of a prompt."""
    (image,) = list_images(request)
    with Image.open(io.BytesIO(image)) as picture:
        return bytes(picture.info["comment"]).decode()


def describe_picture(request: Json, description: str = "The yield of rye is 17 t.") -> Json:
    """Answer as a model that sees the picture."""
    return {"check": read_check(request), "kind": "plot", "description": description, "values": []}


def _save(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]  # both libraries have it
    return buffer.getvalue()
