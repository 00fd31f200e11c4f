"""Test the figures of a report and their SVG images."""

from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from tenure.report.layout.figures import draw_bars, draw_line, draw_meter, set_figures
from tenure.report.layout.tree import BlockNode, DefinitionsNode, FigureNode, ParagraphNode
from tests.report.samples import full

SVG = "{http://www.w3.org/2000/svg}"


def read(svg: str) -> Element:
    return ElementTree.fromstring(svg)


def test_a_course_goes_from_the_first_to_the_last_share() -> None:
    """The least share is at the bottom, the greatest at the top, and a dot marks the last."""
    picture = read(draw_line([0.0, 0.5, 1.0], "Coverage: 0, 50, 100"))
    line = picture.findall(f"{SVG}polyline")[1]

    assert line.get("points") == "4,28 60,16 116,4"
    assert [dot.get("cy") for dot in picture.findall(f"{SVG}circle")] == ["4"]
    assert picture.get("aria-label") == "Coverage: 0, 50, 100"


def test_a_single_share_is_a_dot() -> None:
    """There is no line between fewer than two shares."""
    assert len(read(draw_line([0.5], "half")).findall(f"{SVG}polyline")) == 1


def test_bars_are_as_high_as_their_numbers() -> None:
    """The greatest fills the height, half of it half, and nothing is still to be seen."""
    heights = [float(bar.get("height", "0")) for bar in read(draw_bars([0.4, 0.2, 0.0], "gain")).findall(f"{SVG}rect")]

    assert heights == [76.0, 38.0, 1.0]


def test_many_bars_have_no_labels() -> None:
    """Up to twelve bars have their figures, more fit into the same width without."""
    few, many = read(draw_bars([0.1] * 12, "few")), read(draw_bars([0.1] * 100, "many"))

    assert len(few.findall(f"{SVG}text")) == 24
    assert many.findall(f"{SVG}text") == []
    assert max(float(bar.get("x", "0")) for bar in many.findall(f"{SVG}rect")) < 320


def test_bars_without_height_can_be_drawn() -> None:
    """Research that gained nothing has a figure too."""
    assert len(read(draw_bars([0.0, 0.0], "none")).findall(f"{SVG}rect")) == 2


def test_a_meter_is_never_more_than_full() -> None:
    """A share above 1 is drawn as 1."""
    widths = [read(draw_meter(share, "budget")).findall(f"{SVG}rect")[1].get("width") for share in (0.25, 1.7)]

    assert widths == ["40", "160"]


def test_words_in_a_figure_are_escaped() -> None:
    """A name with signs of markup cannot leave its attribute."""
    assert read(draw_meter(0.5, '"><script>')).get("aria-label") == '"><script>'


def list_figures(blocks: Iterable[BlockNode]) -> list[FigureNode]:
    """Return the figures of paragraphs and definitions."""
    lines = [
        line
        for block in blocks
        for line in ([block.line] if isinstance(block, ParagraphNode) else [])
        + ([meaning for _, meaning in block.items] if isinstance(block, DefinitionsNode) else [])
    ]
    return [node for line in lines for node in line if isinstance(node, FigureNode)]


def test_figures_state_their_numbers() -> None:
    """Coverage has a course from three values on, a limited resource has a meter, and each has its numbers in words."""
    figures = list_figures(set_figures(full()))

    assert [(figure.words, bool(figure.svg)) for figure in figures] == [
        ("80% (20%, 60%, 80%)", True),
        ("50% (0%, 50%, 50%)", True),
        ("Information gain by cycle: 0.41, 0.12", False),
        ("3 of 10 searches", True),
        ("4.25 seconds, no limit", False),
    ]
