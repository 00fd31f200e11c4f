"""Render the opening of a scheduled question's report: new, changed and no longer supported statements, with quotes."""

from collections.abc import Iterator

from tenure.contracts.result.changes import CitedStatement, ReportChanges
from tenure.contracts.result.result import Result
from tenure.report.render.escaping import escape, flatten

HEADING = "Since the last report"
"""Heading of the part."""


def render_news(result: Result) -> str:
    """Render the changes since the last report as Markdown; empty for the first report."""
    if result.changes is None or not result.changes.since:
        return ""
    return "\n\n".join(_parts(result.changes))


def _parts(changes: ReportChanges) -> Iterator[str]:
    last = f"The last report is `{changes.since}`" + (f" of {changes.since_at[:10]}" if changes.since_at else "")
    counts = f"{len(changes.new)} new, {len(changes.changed)} changed, {len(changes.withdrawn)} no longer supported"
    yield f"{last}. Statements: {counts}; {changes.unchanged} statements of the last report are still supported."
    if changes.new:
        yield "**New**"
        yield "\n".join(f"- {_line(one)}" for one in changes.new)
    if changes.changed:
        yield "**Changed**"
        yield "\n".join(f"- {_line(one.after)}; before: {_line(one.before)}" for one in changes.changed)
    if changes.withdrawn:
        yield "**No longer supported**"
        yield "\n".join(f"- {_line(one)} (no longer in the source)" for one in changes.withdrawn)


def _line(one: CitedStatement) -> str:
    """Return a statement and its quotes; a statement in the words of its first quote is not repeated."""
    quotes = "; ".join(f"“{escape(flatten(words.quote))}” ({escape(flatten(words.title))})" for words in one.quotes)
    is_quote = bool(one.quotes) and flatten(one.text) == flatten(one.quotes[0].quote)
    return " — ".join(filter(None, ("" if is_quote else escape(flatten(one.text)), quotes)))
