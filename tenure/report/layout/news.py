"""Set the opening of a scheduled question's report: new, changed and no longer supported statements, with quotes."""

from collections.abc import Iterator, Sequence

from tenure.algorithms.text.printable import flatten
from tenure.contracts.result.changes import CitedStatement, ReportChanges
from tenure.report.layout.text import format_words, make_code, make_line
from tenure.report.layout.tree import BlockNode, ListNode, ParagraphNode
from tenure.report.translation import translate


def set_news(changes: ReportChanges | None) -> Iterator[BlockNode]:
    """Yield the changes since the last report; nothing for the first report."""
    if changes is None or not changes.since:
        return
    day = f" ({changes.since_at[:10]})" if changes.since_at else ""
    counts = translate(
        "Statements: {new} new, {changed} changed, {withdrawn} no longer supported; {unchanged} statements of the last "
        "report are still supported.",
        new=len(changes.new),
        changed=len(changes.changed),
        withdrawn=len(changes.withdrawn),
        unchanged=changes.unchanged,
    )
    yield ParagraphNode(make_line(translate("The last report: "), make_code(changes.since), f"{day}. {counts}"))
    revised = [
        translate("{after}; before: {before}", after=_describe(change.after), before=_describe(change.before))
        for change in changes.changed
    ]
    withdrawn = [
        translate("{statement} (no longer in the source)", statement=_describe(statement))
        for statement in changes.withdrawn
    ]
    yield from _list_statements(translate("New"), [_describe(statement) for statement in changes.new])
    yield from _list_statements(translate("Changed"), revised)
    yield from _list_statements(translate("No longer supported"), withdrawn)


def _list_statements(label: str, statements: Sequence[str]) -> Iterator[BlockNode]:
    if statements:
        yield ParagraphNode(format_words(label, "strong"))
        yield ListNode(tuple(map(make_line, statements)))


def _describe(statement: CitedStatement) -> str:
    """Return a statement and its quotes; a statement in the words of its first quote is not repeated."""
    quotes = "; ".join(f"“{flatten(words.quote)}” ({flatten(words.title)})" for words in statement.quotes)
    is_quote = bool(statement.quotes) and flatten(statement.text) == flatten(statement.quotes[0].quote)
    return " — ".join(filter(None, ("" if is_quote else flatten(statement.text), quotes)))
