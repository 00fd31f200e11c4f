"""Draw the share of a whole as a small SVG image.

It is self-contained, has classes by which a style sheet may replace its colours, and describes its number in a text for
screen readers.
"""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

INK, PALE = "#1f6f8b", "#d9e2e6"

METER_WIDTH, METER_HEIGHT = 160, 10


def draw_meter(share: float, words: str) -> str:
    """Draw a share of a whole; a share above 1 is drawn as the whole.

    Args:
        share: at least 0.
        words: description for screen readers.
    """
    svg = _picture(METER_WIDTH, METER_HEIGHT, words)
    _box(svg, "track", (0, 0, METER_WIDTH, METER_HEIGHT), PALE)
    _box(svg, "fill", (0, 0, METER_WIDTH * min(1.0, max(0.0, share)), METER_HEIGHT), INK)
    return _text(svg)


def _picture(width: int, height: int, words: str) -> Element:
    return Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": str(width),
            "height": str(height),
            "role": "img",
            "aria-label": words,
        },
    )


def _box(svg: Element, name: str, place: tuple[float, float, float, float], colour: str) -> None:
    x, y, width, height = (format_number(number) for number in place)
    SubElement(svg, "rect", {"class": name, "x": x, "y": y, "width": width, "height": height, "fill": colour})


def format_number(number: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")


def _text(svg: Element) -> str:
    return ElementTree.tostring(svg, encoding="unicode")
