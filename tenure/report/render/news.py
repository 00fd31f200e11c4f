"""What opens a report of a standing question: what is new, has changed or is no longer supported, with the words."""

from collections.abc import Iterator

from tenure.contracts.result.changes import Changes, Stated
from tenure.contracts.result.result import Result
from tenure.report.render.escaping import escape, flatten

HEADING = "Since the last report"
"""What the part is called."""


def news(result: Result) -> str:
    """Set as Markdown what a report brings over the last one; empty for one that has none before it."""
    if result.changes is None or not result.changes.since:
        return ""
    return "\n\n".join(_parts(result.changes))


def _parts(changes: Changes) -> Iterator[str]:
    last = f"The last report is `{changes.since}`" + (f" of {changes.since_at[:10]}" if changes.since_at else "")
    counts = f"{len(changes.new)} new, {len(changes.changed)} changed, {len(changes.withdrawn)} no longer supported"
    yield f"{last}. Statements: {counts}; {changes.standing} of the last report rest on words that still stand."
    if changes.new:
        yield "**New**"
        yield "\n".join(f"- {_line(one)}" for one in changes.new)
    if changes.changed:
        yield "**Changed**"
        yield "\n".join(f"- {_line(one.now)}; before: {_line(one.before)}" for one in changes.changed)
    if changes.withdrawn:
        yield "**No longer supported**"
        yield "\n".join(f"- {_line(one)}, which is gone" for one in changes.withdrawn)


def _line(one: Stated) -> str:
    """Set a statement and its first words; those alone where they are the statement."""
    words = one.words[0]
    where = f"“{escape(flatten(words.quote))}” ({escape(flatten(words.title))})"
    text = escape(flatten(one.text))
    return where if flatten(one.text) == flatten(words.quote) else f"{text} — {where}"
