"""Slides are drawn with quoted words marked."""

import io
import re
from html import unescape

import pptx
import pytest
from PIL import Image
from pptx.util import Pt

from tenure.contracts.evidence.recognition import PagePlace
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.views.slide_picture import draw_slide
from tests.sources.packages import make_pptx, make_rich_pptx

_MARKED = re.compile(r'<span style="background:#ffec6e">(.*?)</span>')


def _find_marks(data: bytes, page: int, quote: str) -> list[str]:
    return list(map(unescape, _MARKED.findall(draw_slide(data, PagePlace(page, quote, 0.0)).decode())))


@pytest.mark.parametrize(
    ("page", "quote", "marked"),
    [
        (1, "- deep", ["deep"]),
        (1, "# First things", ["First things"]),
        (1, "- one\n  - deep", ["one", "deep"]),
        (1, "Say it slowly.", ["Say it slowly"]),
        (2, "| 10 | 11 |", ["10", "11"]),
        (2, "| 2024 | 1.5 |", ["2024", "1.5"]),
        (3, "words of another slide", []),
    ],
)
def test_the_words_of_a_quote_are_marked(page: int, quote: str, marked: list[str]) -> None:
    """Paragraphs, cells of tables and charts, and notes are marked where the quote has them."""
    assert _find_marks(make_pptx(), page, quote) == marked


def test_a_diagram_is_drawn_in_its_place() -> None:
    """The texts of SmartArt are in its frame, an inch from the corner of the slide."""
    drawing = draw_slide(make_rich_pptx(), PagePlace(1, "Plan the work", 0.0)).decode()

    assert '<foreignObject x="72.0" y="72.0" width="288.0" height="144.0"' in drawing
    assert _MARKED.findall(drawing) == ["Plan the work"]


def test_shapes_in_a_group_and_pictures_have_their_positions() -> None:
    """A group scales what is in it; a picture is embedded, and text is escaped."""
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    box = slide.shapes.add_textbox(Pt(100), Pt(100), Pt(50), Pt(20))
    box.text_frame.text = "<script>1 & 2"
    group = slide.shapes.add_group_shape([box])
    group.left, group.top, group.width, group.height = Pt(10), Pt(20), Pt(100), Pt(40)
    pixels = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(pixels, "PNG")
    slide.shapes.add_picture(pixels, Pt(300), Pt(200), Pt(60), Pt(30))
    buffer = io.BytesIO()
    made.save(buffer)

    drawing = draw_slide(buffer.getvalue(), PagePlace(1, "1 & 2", 0.0)).decode()

    assert '<foreignObject x="10.0" y="20.0" width="100.0" height="40.0"' in drawing
    assert '<image x="300.0" y="200.0" width="60.0" height="30.0"' in drawing
    assert "<script" not in drawing and _MARKED.findall(drawing) == ["1 &amp; 2"]


def test_a_slide_of_very_many_shapes_is_drawn_in_part_with_the_marked_ones() -> None:
    """The number of shapes is bounded, and a shape with the quote is drawn whatever its number is."""
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    for number in range(520):
        slide.shapes.add_textbox(0, 0, Pt(50), Pt(20)).text_frame.text = f"shape-{number}."
    buffer = io.BytesIO()
    made.save(buffer)

    drawing = draw_slide(buffer.getvalue(), PagePlace(1, "shape-510.", 1.0)).decode()

    assert _MARKED.findall(drawing) == ["shape-510"]
    assert "shape-499." in drawing and "shape-500." not in drawing


@pytest.mark.parametrize(
    ("data", "page", "reason"),
    [(make_pptx(), 4, "has no slide 4"), (make_pptx()[:9000], 1, "is damaged"), (b"x", 1, "is damaged")],
)
def test_what_cannot_be_drawn_has_a_reason(data: bytes, page: int, reason: str) -> None:
    """A slide that is missing and a damaged file have a reason."""
    with pytest.raises(Unreadable, match=reason):
        draw_slide(data, PagePlace(page, "x", 0.0))
