"""Render the trace of a run as one self-contained HTML page: its timeline, its cycles, its calls and its story."""

from tenure.algorithms.text.printable import flatten
from tenure.contracts.research.trace import CallKind, Trace, TracedCycle
from tenure.report.render.html import (
    TEMPLATES,
    build_content_security_policy,
    convert_markdown,
    load_sheet,
    make_environment,
)
from tenure.report.trace.markdown import render_trace
from tenure.report.trace.timeline import draw_timeline, format_seconds, list_bars, measure_seconds

_KIND_NAMES: dict[CallKind, str] = {
    "model": "role or model",
    "search": "search",
    "web": "web",
    "program": "program in the sandbox",
    "other": "other work",
}


def render_trace_page(trace: Trace) -> str:
    """Render a trace as one HTML page."""
    sheet = load_sheet()
    _, _, story = render_trace(trace).partition("\n\n")  # the page has its own title
    return (
        make_environment(TEMPLATES)
        .get_template("trace.html.jinja")
        .render(
            style=sheet,
            policy=build_content_security_policy(sheet),
            trace=trace,
            question=flatten(trace.question),
            facts=_list_facts(trace),
            timeline=draw_timeline(trace),
            has_tokens=any(call.tokens for call in trace.calls),
            kinds=[(kind, _KIND_NAMES[kind]) for kind in _KIND_NAMES if any(call.kind == kind for call in trace.calls)],
            cycles=[(cycle, _count_queries(cycle)) for cycle in trace.cycles],
            calls=[(bar.call, format_seconds(bar.start), f"{bar.end - bar.start:.2f}") for bar in list_bars(trace)],
            story=convert_markdown(story, level=2),
        )
    )


def _count_queries(cycle: TracedCycle) -> int:
    return sum(len(task.queries) for plan in cycle.plans for task in plan.tasks)


def _list_facts(trace: Trace) -> list[tuple[str, str]]:
    """Return the totals of a run with their names."""
    answers = sum(call.model_calls for call in trace.calls)
    costs = [call.cost_usd for call in trace.calls if call.cost_usd is not None]
    facts = [
        ("Status", trace.status.replace("_", " ")),
        ("Time", format_seconds(measure_seconds(trace)) + ("" if trace.ended_at else " so far")),
        ("Model answers", f"{answers:,}"),
        ("Tokens", f"{sum(call.tokens for call in trace.calls):,}"),
        ("Cost", f"${sum(costs):.4f}" if costs else ""),
        ("Searches", f"{sum(call.count for call in trace.calls if call.kind == 'search'):,}"),
        ("Cycles", str(len(trace.cycles)) if trace.cycles else ""),
    ]
    return [(name, value) for name, value in facts if value]
