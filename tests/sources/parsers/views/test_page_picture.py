"""Pages of documents are drawn with quoted words marked."""

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tenure.contracts.evidence.recognition import PagePlace, RecognizedWord
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.views.page_picture import draw_page
from tests.sources.pdfs import make_pdf

LINES = ["Rye needs six hours.", "Wheat needs two hours.", "", "Rye needs six hours."]


def _find_marked_rows(image: bytes) -> list[range]:
    """Return the ranges of rows with the colour of the marker."""
    pixels = np.asarray(Image.open(io.BytesIO(image)).convert("RGB")).astype(int)
    # The marker is yellow: red and green without blue; the compression colours single pixels next to it.
    rows = np.flatnonzero(((pixels[:, :, 0] > 160) & (pixels[:, :, 2] < 160)).sum(axis=1) > 20).tolist()
    starts = [y for y in rows if y - 1 not in rows]
    return [range(start, next(y for y in range(start, len(pixels)) if y not in rows)) for start in starts]


@pytest.mark.parametrize(
    ("quote", "share", "lines"),
    [
        ("Wheat needs two hours.", 0.3, [1]),
        ("wheat needs\ntwo hours", 0.3, [1]),
        ("Rye needs six hours.", 0.0, [0]),
        ("Rye needs six hours.", 0.9, [3]),
        ("| Wheat | two hours |", 0.3, [1]),
        ("Barley needs a day.", 0.3, []),
    ],
)
def test_the_words_of_a_quote_are_marked(quote: str, share: float, lines: list[int]) -> None:
    """The line of the quote is marked; its place distinguishes equal words; cells are looked for one by one."""
    data = make_pdf([["Another page."], LINES])

    marked = _find_marked_rows(draw_page(data, PagePlace(2, quote, share)))

    # The first line is 52 points below the upper edge, and the distance of lines is 14 points.
    scale = 1000 / 612
    assert [round((rows[len(rows) // 2] / scale - 48) / 14) for rows in marked] == lines


def test_recognized_words_are_marked_by_their_boxes() -> None:
    """A picture is marked at the places of its recognized words, whatever its size."""
    picture = Image.new("RGB", (2000, 1000), "white")
    ImageDraw.Draw(picture).text((100, 500), "rye")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")

    image = draw_page(buffer.getvalue(), PagePlace(1, "rye", 0.0, (RecognizedWord(0, 3, 0, 0.1, 0.5, 0.2, 0.6, 0.9),)))

    (marked,) = _find_marked_rows(image)
    assert marked.start == pytest.approx(250, abs=4) and marked.stop == pytest.approx(300, abs=4)


@pytest.mark.parametrize(
    ("data", "page", "reason"),
    [
        (b"%PDF-1.4 nothing", 1, "is damaged"),
        (b"no picture", 1, "is damaged"),
        (make_pdf([LINES]), 2, "has no page 2"),
    ],
)
def test_what_cannot_be_drawn_says_why(data: bytes, page: int, reason: str) -> None:
    """A damaged file, and a page that does not exist, have one reason each."""
    with pytest.raises(Unreadable) as caught:
        draw_page(data, PagePlace(page, "x", 0.0))

    assert caught.value.reason == reason


def test_cells_that_follow_each_other_are_marked_together() -> None:
    """A short cell occurs elsewhere as well, so a row is looked for as a whole first."""
    (marked,) = _find_marked_rows(
        draw_page(make_pdf([["rye, eggs and milk", "", "2 and rye"]]), PagePlace(1, "| 2 and | rye |", 0.4))
    )

    assert round((marked[len(marked) // 2] * 612 / 1000 - 48) / 14) == 2
