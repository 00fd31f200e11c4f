"""Draw the calls of a run over time as one SVG image.

Each part of the run has a row with its calls as bars, coloured by their subject. Below the rows a line shows the tokens
that had been used by then. Vertical lines show the starts of cycles and the verdicts on a change, and marks the
commands of people.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tenure.algorithms.text.printable import flatten
from tenure.contracts.research.trace import CallKind, Trace, TracedCall, TracedVerification

COLOURS: Final[Mapping[CallKind, str]] = {
    "model": "#1f6f8b",
    "search": "#c27c0e",
    "web": "#7a4fa3",
    "program": "#3f8f4f",
    "other": "#8a959c",
}
"""Fill of a bar by the subject of its call; a class of the same name allows style sheets to replace it."""

# Sizes of the drawing are in pixels of its view box.
WIDTH: Final = 960
_LABELS, _ROW, _BAR, _HEAD, _TOKENS, _FOOT = 230, 20, 12, 18, 90, 34
_INK, _GREY, _PALE = "#1f6f8b", "#5f6b73", "#d9e2e6"
_MAX_LABEL: Final = 34
# Seconds between two ticks: the first that makes at most ten of them, so 5 for a run of 42 s.
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
_MAX_TICKS: Final = 10


class Bar(NamedTuple):
    """Call as a bar."""

    call: TracedCall
    start: float
    """Seconds from the start of the run to its start."""
    end: float
    """Seconds from the start of the run to its end."""


def list_bars(trace: Trace) -> list[Bar]:
    """Return the calls of a run in seconds from its start."""
    return [Bar(call, _since(trace, call.at), _since(trace, call.ended_at)) for call in trace.calls]


def measure_seconds(trace: Trace) -> float:
    """Return the seconds from the start of a run to its end, or to the last event of one that has not ended."""
    moments = [trace.ended_at, *(call.ended_at for call in trace.calls)]
    return max((_since(trace, moment) for moment in moments if moment), default=0.0)


def draw_timeline(trace: Trace) -> str:
    """Draw the timeline of a run; an empty text if it has made no call."""
    bars = list_bars(trace)
    if not bars:
        return ""
    parts = list(dict.fromkeys(bar.call.part for bar in bars))
    has_tokens = any(bar.call.tokens for bar in bars)
    words = _describe(trace, bars, parts)
    drawing = _Drawing(max(measure_seconds(trace), 0.001), len(parts), words, has_tokens=has_tokens)
    drawing.draw_axis()
    for row, part in enumerate(parts):
        drawing.draw_row(row, part, [bar for bar in bars if bar.call.part == part])
    for cycle in trace.cycles:
        drawing.mark(_since(trace, cycle.plans[0].at), "cycle", f"Cycle {cycle.number}")
    for record in trace.work:
        if isinstance(record, TracedVerification):
            drawing.mark(_since(trace, record.at), "cycle", f"Verified: {record.outcome}")
    for at, command in _list_commands(trace):
        drawing.mark(_since(trace, at), "person", command)
    drawing.draw_tokens(bars)
    return ElementTree.tostring(drawing.svg, encoding="unicode")


def format_seconds(seconds: float) -> str:
    """Return a time from the start of a run as a label."""
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    minutes, remainder = divmod(total, 60)
    if minutes < 60:
        return f"{minutes}:{remainder:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{remainder:02}"


class _Drawing:
    """The image: a column of labels, rows of bars, and a line of tokens."""

    def __init__(self, seconds: float, rows: int, words: str, *, has_tokens: bool) -> None:
        self._seconds = seconds
        self._floor = _HEAD + rows * _ROW + (_TOKENS if has_tokens else 0)
        height = self._floor + _FOOT
        self.svg = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {WIDTH} {height}",
                "width": str(WIDTH),
                "height": str(height),
                "role": "img",
                "aria-label": words,
                "class": "timeline",
                "font-family": "sans-serif",
                "font-size": "11",
            },
        )

    def draw_axis(self) -> None:
        """Draw vertical lines at round times, with their labels."""
        step = next((width for width in _STEPS if self._seconds / width <= _MAX_TICKS), _STEPS[-1])
        for number in range(int(self._seconds // step) + 1):
            x = self._x(number * step)
            self._line((x, _HEAD), (x, self._floor), "axis", _PALE)
            self._label(x, self._floor + 14, format_seconds(number * step), "middle")

    def draw_row(self, row: int, part: str, bars: Iterable[Bar]) -> None:
        """Draw the calls of one part of the run."""
        top = _HEAD + row * _ROW
        label = self._label(
            _LABELS - 8, top + _BAR, part[: _MAX_LABEL - 1] + "…" if len(part) > _MAX_LABEL else part, "end"
        )
        SubElement(label, "title").text = flatten(part)
        for bar in bars:
            kind = bar.call.kind
            x = self._x(bar.start)
            attributes = {
                "x": _format_number(x),
                "y": _format_number(top + 3),
                "width": _format_number(max(1.5, self._x(bar.end) - x)),
                "height": _format_number(_BAR),
            }
            failed = " failed" if bar.call.failure else ""
            box = SubElement(
                self.svg, "rect", attributes | {"class": f"call {kind}{failed}", "fill": COLOURS[kind], "rx": "2"}
            )
            SubElement(box, "title").text = describe_bar(bar)

    def mark(self, at: float, kind: str, words: str) -> None:
        """Draw a labelled vertical line."""
        x = self._x(at)
        line = self._line((x, _HEAD - 4), (x, self._floor), kind, _GREY)
        line.set("stroke-dasharray", "2 3" if kind == "cycle" else "6 2")
        SubElement(line, "title").text = flatten(words)
        if kind == "cycle":
            self._label(x, _HEAD - 6, words, "start")

    def draw_tokens(self, bars: Sequence[Bar]) -> None:
        """Draw the sum of the tokens over time."""
        ended = sorted((bar.end, bar.call.tokens) for bar in bars if bar.call.tokens)
        if not ended:
            return
        sums = list(accumulate(tokens for _, tokens in ended))
        floor, height = self._floor, _TOKENS - 22
        points = [(self._x(0), float(floor))]
        for (at, _), total in zip(ended, sums, strict=True):
            points += [(self._x(at), points[-1][1]), (self._x(at), floor - height * total / sums[-1])]
        points.append((self._x(self._seconds), points[-1][1]))
        way = " ".join(f"{_format_number(x)},{_format_number(y)}" for x, y in points)
        SubElement(self.svg, "polyline", {"class": "line", "points": way, "fill": "none", "stroke": _INK})
        self._label(_LABELS - 8, floor - height + 4, f"{sums[-1]:,} tokens", "end")
        self._label(_LABELS - 8, floor, "0", "end")

    def _x(self, seconds: float) -> float:
        return _LABELS + (WIDTH - _LABELS - 20) * min(1.0, max(0.0, seconds / self._seconds))

    def _line(self, start: tuple[float, float], end: tuple[float, float], name: str, colour: str) -> Element:
        ends = {
            "x1": _format_number(start[0]),
            "y1": _format_number(start[1]),
            "x2": _format_number(end[0]),
            "y2": _format_number(end[1]),
        }
        return SubElement(self.svg, "line", ends | {"class": name, "stroke": colour})

    def _label(self, x: float, y: float, text: str, anchor: str) -> Element:
        label = SubElement(
            self.svg,
            "text",
            {"class": "label", "x": _format_number(x), "y": _format_number(y), "text-anchor": anchor, "fill": _GREY},
        )
        label.text = text
        return label


def describe_bar(bar: Bar) -> str:
    """Return the name of a call with its time, its cost and its failure."""
    call = bar.call
    facts = [f"{call.name.replace('_', ' ')}, {bar.end - bar.start:.1f} s"]
    if call.model_calls:
        facts.append(f"{call.tokens:,} tokens")
    if call.cost_usd is not None:
        facts.append(f"${call.cost_usd:.4f}")
    return "; ".join([*facts, flatten(call.failure)] if call.failure else facts)


def _list_commands(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield the commands of people with their times."""
    for feedback in trace.feedback:
        yield feedback.at, f"feedback: {feedback.text}"
    for command in trace.commands:
        yield command.at, command.signal


def _describe(trace: Trace, bars: Sequence[Bar], parts: Sequence[str]) -> str:
    """Return the description of the image."""
    answers = sum(bar.call.model_calls for bar in bars)
    tokens = sum(bar.call.tokens for bar in bars)
    return (
        f"{len(bars)} calls of {len(parts)} parts of the run in {format_seconds(measure_seconds(trace))}, "
        f"{answers} of them answered by a model with {tokens:,} tokens, in {len(trace.cycles)} research cycles."
    )


def _since(trace: Trace, moment: str) -> float:
    return (datetime.fromisoformat(moment) - datetime.fromisoformat(trace.started_at)).total_seconds()


def _format_number(number: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
