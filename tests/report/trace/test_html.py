"""Test the HTML page of a trace."""

from html import escape

from tenure.contracts.research.cycle import Finding
from tenure.contracts.research.trace import Trace, TracedCycle, TracedDecision, TracedPlan
from tenure.report.trace.html import render_trace_page
from tests.report.trace.test_markdown import FINDING
from tests.report.trace.test_timeline import TRACE, at
from tests.report.traces import EXAMPLE

HOSTILE = "<script>alert(1)</script> & <b onclick=x>"


def test_a_page_has_timeline_cycles_calls_and_story() -> None:
    """The page has totals, the image, a row for each cycle and each call, and the story."""
    trace = EXAMPLE
    page = render_trace_page(trace)

    assert "<meter" in page and 'class="timeline"' in page
    assert f"All {len(trace.calls)} calls in order" in page
    assert f"<dt>Tokens</dt><dd>{sum(call.tokens for call in trace.calls):,}</dd>" in page
    assert page.count('<th scope="row">') == len(trace.calls) + len(trace.cycles)
    assert "Mould is missing." in page and "<h3" in page


def test_a_running_run_without_calls_has_a_page() -> None:
    """A page has no empty parts."""
    page = render_trace_page(Trace(id="r", question="Why?", started_at=at(0), status="running"))

    assert "<dd>0 s so far</dd>" in page and "Timeline" not in page and "Cycles" not in page


def test_words_of_others_are_escaped() -> None:
    """Nothing that a document, a model or a person wrote is markup, and the page runs no script."""
    cycle = TracedCycle(
        number=1,
        plans=(TracedPlan(number=1, cycle=1, at=at(5)),),
        accepted=(Finding.model_validate(FINDING),),
        coverage={HOSTILE: 0.5},
        decision=TracedDecision(cycle=1, continues=False, reasoning=HOSTILE),
    )
    calls = tuple(call.model_copy(update={"part": HOSTILE, "failure": HOSTILE}) for call in TRACE.calls)
    page = render_trace_page(
        TRACE.model_copy(update={"question": HOSTILE, "failure": HOSTILE, "calls": calls, "cycles": (cycle,)})
    )

    assert "<script" not in page and "<b onclick" not in page
    assert escape(HOSTILE) in page
    assert "default-src &#39;none&#39;" in page
