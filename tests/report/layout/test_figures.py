"""Test the image of a share."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from tenure.report.layout.figures import draw_meter

SVG = "{http://www.w3.org/2000/svg}"


def read(svg: str) -> Element:
    return ElementTree.fromstring(svg)


def test_a_meter_is_never_more_than_full() -> None:
    """A share above 1 is drawn as 1."""
    widths = [read(draw_meter(share, "budget")).findall(f"{SVG}rect")[1].get("width") for share in (0.25, 1.7)]

    assert widths == ["40", "160"]


def test_words_in_a_figure_are_escaped() -> None:
    """A name with signs of markup cannot leave its attribute."""
    assert read(draw_meter(0.5, '"><script>')).get("aria-label") == '"><script>'
