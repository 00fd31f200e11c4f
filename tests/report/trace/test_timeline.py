"""Test the timeline of a trace."""

from xml.etree import ElementTree

import pytest

from tenure.contracts.research.trace import ControlRecord, Trace, TracedCall, TracedCycle, TracedPlan
from tenure.report.trace.html import render_trace_page
from tenure.report.trace.timeline import describe_bar, draw_timeline, format_seconds, list_bars, measure_seconds

SVG = "{http://www.w3.org/2000/svg}"


def at(seconds: float) -> str:
    """Return a time after the start of the run."""
    return f"2026-01-01T10:{int(seconds) // 60:02}:{seconds % 60:06.3f}+00:00"


LONG = "task: <why> is it so & who says it in the sources"
CALLS = (
    TracedCall(
        name="router", kind="model", part="run", at=at(1), ended_at=at(3), model_calls=1, tokens=300, cost_usd=0.01
    ),
    TracedCall(
        name="search_passages",
        kind="search",
        part="task: <why> is it so & who says it in the sources",
        at=at(4),
        ended_at=at(4.5),
    ),
    TracedCall(name="planner", kind="model", part="research", at=at(5), ended_at=at(9), failure="no answer"),
    TracedCall(name="report_writer", kind="model", part="report", at=at(10), ended_at=at(10)),
)
TRACE = Trace(
    id="r",
    question="Why?",
    started_at=at(0),
    status="running",
    calls=CALLS,
    cycles=(TracedCycle(number=1, plans=(TracedPlan(number=1, cycle=1, at=at(5)),)),),
    commands=(ControlRecord(at=at(12), signal="pause"),),
)


def test_each_call_is_a_bar_in_the_row_of_its_part() -> None:
    """A bar is as long as its call, has the colour of its subject, and describes itself."""
    image = ElementTree.fromstring(draw_timeline(TRACE))
    boxes = image.findall(f"{SVG}rect")
    widths = [float(box.get("width", "")) for box in boxes]

    assert [box.get("class") for box in boxes] == ["call model", "call search", "call model failed", "call model"]
    assert len({box.get("y") for box in boxes}) == 4
    assert widths[2] == pytest.approx(2 * widths[0], abs=0.2) and widths[0] == pytest.approx(4 * widths[1], abs=0.2)
    assert [box.findtext(f"{SVG}title") for box in boxes] == [
        "router, 2.0 s; 300 tokens; $0.0100",
        "search passages, 0.5 s",
        "planner, 4.0 s; no answer",
        "report writer, 0.0 s",
    ]


def test_long_names_of_parts_are_cut_and_kept_as_a_title() -> None:
    """A label fits its column, and the whole name is its title."""
    labels = [label for label in ElementTree.fromstring(draw_timeline(TRACE)).findall(f"{SVG}text")]
    whole = {label.findtext(f"{SVG}title"): label.text or "" for label in labels}

    cut = whole[LONG]
    assert cut.startswith("task: <why> is it so & who") and cut.endswith("…")
    assert whole["run"] == "run"


def test_cycles_and_commands_of_people_are_lines() -> None:
    """The start of a cycle and a command have a line with their name."""
    lines = ElementTree.fromstring(draw_timeline(TRACE)).findall(f"{SVG}line")
    named = {line.get("class"): line.findtext(f"{SVG}title") for line in lines if line.find(f"{SVG}title") is not None}

    assert named == {"cycle": "Cycle 1", "person": "pause"}


def test_the_line_of_tokens_ends_at_their_sum() -> None:
    """Tokens are added when a call ends; without any there is no line."""
    image = ElementTree.fromstring(draw_timeline(TRACE))
    texts = [label.text for label in image.findall(f"{SVG}text")]
    free = TRACE.model_copy(update={"calls": CALLS[1:2]})

    assert "300 tokens" in texts and image.find(f"{SVG}polyline") is not None
    assert ElementTree.fromstring(draw_timeline(free)).find(f"{SVG}polyline") is None
    assert "tokens used so far" in render_trace_page(TRACE) and "tokens used so far" not in render_trace_page(free)


def test_the_image_is_described_for_screen_readers() -> None:
    """The description names calls, parts, time, tokens and cycles."""
    assert ElementTree.fromstring(draw_timeline(TRACE)).get("aria-label") == (
        "4 calls of 4 parts of the run in 10 s, 1 of them answered by a model with 300 tokens, in 1 research cycles."
    )


def test_a_run_without_calls_has_no_timeline() -> None:
    """There is nothing to draw."""
    assert draw_timeline(TRACE.model_copy(update={"calls": ()})) == ""


def test_the_time_of_a_run_is_that_to_its_end() -> None:
    """The axis ends with the run, or with the last call of a run that continues."""
    ended = TRACE.model_copy(update={"ended_at": at(60)})

    assert (measure_seconds(TRACE), measure_seconds(ended)) == (10, 60)
    assert [bar.end for bar in list_bars(ended)] == [3, 4.5, 9, 10]
    assert describe_bar(list_bars(ended)[-1]) == "report writer, 0.0 s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (61, "1:01"), (3599, "59:59"), (3661, "1:01:01"), (90_000, "25:00:00")],
)
def test_times_are_short(seconds: float, text: str) -> None:
    """Seconds, minutes and hours have the usual form."""
    assert format_seconds(seconds) == text
