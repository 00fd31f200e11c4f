"""List the figures of a report, and draw them as small SVG images: a line, bars and a meter.

Each figure is self-contained, has classes by which a style sheet may replace its colours, and describes its numbers
in a text for screen readers.
"""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tenure.contracts.result.result import Result
from tenure.contracts.run.budget import BudgetResource
from tenure.report.layout.text import make_line
from tenure.report.layout.tree import BlockNode, DefinitionsNode, FigureNode, Line, ParagraphNode

INK, PALE, GREY = "#1f6f8b", "#d9e2e6", "#5f6b73"

COURSE_WIDTH, COURSE_HEIGHT, MARGIN = 120, 32, 4

METER_WIDTH, METER_HEIGHT = 160, 10

BARS_HEIGHT, BARS_WIDTH = 110, 320
HEAD, FOOT = 16, 18
MAX_LABELLED_BARS = 12
"""Maximum number of bars with a number each; with more bars only the heights are legible."""


MIN_POINTS = 3
"""Minimum number of values of a drawn course; fewer are legible as numbers."""

_COVERAGE = (
    "Coverage of each topic, by the number and relevance of the passages found on it; in brackets before the research "
    "and after every cycle:"
)

_UNITS: dict[BudgetResource, str] = {
    "tokens": "tokens",
    "money": "US dollars",
    "calls": "model calls",
    "searches": "searches",
    "time": "seconds",
}


def set_figures(result: Result) -> Iterator[BlockNode]:
    """Yield the coverage of each topic, the information gain, and the used share of each limit."""
    if coverage := tuple(_list_coverage(result)):
        yield ParagraphNode(make_line(_COVERAGE), "note")
        yield DefinitionsNode(coverage)
    if gains := result.information_gain:
        words = "Information gain by cycle: " + ", ".join(f"{gain:.2f}" for gain in gains)
        drawing = draw_bars(gains, words) if len(gains) >= MIN_POINTS else ""
        yield ParagraphNode((FigureNode(drawing, words),), "note")
    if budget := tuple(_list_budget(result)):
        yield ParagraphNode(make_line("Budget:"), "note")
        yield DefinitionsNode(budget)


def _list_coverage(result: Result) -> Iterator[tuple[Line, Line]]:
    """Yield the course of every topic's coverage."""
    for topic, final in result.coverage.items():
        shares = result.coverage_by_cycle.get(topic, ())
        numbers = ", ".join(f"{share:.0%}" for share in shares)
        words = f"Coverage before the research and after each cycle: {numbers}"
        drawing = draw_line(shares, words) if len(shares) >= MIN_POINTS else ""
        yield make_line(topic), (FigureNode(drawing, f"{final:.0%}" + (f" ({numbers})" if numbers else "")),)


def _list_budget(result: Result) -> Iterator[tuple[Line, Line]]:
    """Yield the used share of each limit, and the usage without a limit."""
    usage = result.usage
    used: dict[BudgetResource, float | None] = {
        "tokens": usage.tokens_in + usage.tokens_out,
        "money": usage.cost_usd,
        "calls": usage.model_calls,
        "searches": usage.searches,
        "time": usage.seconds,
    }
    for resource, amount in used.items():
        if limit := result.limits.get(resource):
            words = f"{amount or 0:,g} of {limit:,g} {_UNITS[resource]}"
            figure = FigureNode(draw_meter((amount or 0) / limit, words), words)
        elif amount:
            figure = FigureNode("", f"{amount:,g} {_UNITS[resource]}, no limit")
        else:
            continue
        yield make_line(resource.capitalize()), (figure,)


def draw_line(shares: Sequence[float], words: str) -> str:
    """Draw the course of a share from 0 to 1.

    Args:
        shares: at least one value.
        words: description for screen readers.
    """
    svg = _picture(COURSE_WIDTH, COURSE_HEIGHT, words)
    _line(svg, "axis", [(MARGIN, _compute_height(0.0)), (COURSE_WIDTH - MARGIN, _compute_height(0.0))], PALE)
    step = (COURSE_WIDTH - 2 * MARGIN) / max(1, len(shares) - 1)
    points = [(MARGIN + n * step, _compute_height(share)) for n, share in enumerate(shares)]
    if len(points) > 1:
        _line(svg, "line", points, INK)
    x, y = points[-1]
    SubElement(svg, "circle", {"class": "dot", "cx": format_number(x), "cy": format_number(y), "r": "3", "fill": INK})
    return _text(svg)


def draw_bars(values: Sequence[float], words: str) -> str:
    """Draw non-negative numbers as bars with their index below, from 1.

    Args:
        values: at least one value.
        words: description for screen readers.
    """
    svg = _picture(BARS_WIDTH, BARS_HEIGHT, words)
    step = min(48.0, BARS_WIDTH / len(values))
    most = max(*values, 0.0) or 1.0
    floor = BARS_HEIGHT - FOOT
    for n, value in enumerate(values):
        height = max(1.0, (floor - HEAD) * max(0.0, value) / most)
        left, middle = n * step + step * 0.15, n * step + step / 2
        _box(svg, "fill", (left, floor - height, step * 0.7, height), INK)
        if len(values) <= MAX_LABELLED_BARS:
            _label(svg, middle, floor - height - 4, f"{value:.2f}")
            _label(svg, middle, BARS_HEIGHT - 5, str(n + 1))
    return _text(svg)


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


def _compute_height(share: float) -> float:
    """Return the y coordinate of a share; the greatest share is at the top."""
    return MARGIN + (COURSE_HEIGHT - 2 * MARGIN) * (1 - min(1.0, max(0.0, share)))


def _line(svg: Element, name: str, points: Sequence[tuple[float, float]], colour: str) -> None:
    way = " ".join(f"{format_number(x)},{format_number(y)}" for x, y in points)
    SubElement(svg, "polyline", {"class": name, "points": way, "fill": "none", "stroke": colour, "stroke-width": "2"})


def _box(svg: Element, name: str, place: tuple[float, float, float, float], colour: str) -> None:
    x, y, width, height = (format_number(number) for number in place)
    SubElement(svg, "rect", {"class": name, "x": x, "y": y, "width": width, "height": height, "fill": colour})


def _label(svg: Element, x: float, y: float, text: str) -> None:
    at = {
        "class": "label",
        "x": format_number(x),
        "y": format_number(y),
        "text-anchor": "middle",
        "font-size": "12",
        "fill": GREY,
    }
    SubElement(svg, "text", at | {"font-family": "sans-serif"}).text = text


def format_number(number: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")


def _text(svg: Element) -> str:
    return ElementTree.tostring(svg, encoding="unicode")
