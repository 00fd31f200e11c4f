"""Render the difference of two runs as Markdown: conclusions first, then findings, sources and figures."""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.result.diff import (
    ChangedConclusion,
    ChangedFinding,
    ChangedMetric,
    DiffSide,
    DiffStatement,
    RunDiff,
    UnsharedContradiction,
)
from tenure.report.layout.marks import STATUS_WORDS
from tenure.report.layout.references import make_address
from tenure.report.render.escaping import escape, escape_cell, format_code_block
from tenure.report.render.markdown import write_line

NO_DIFFERENCE = "The two reports make the same statements from the same sources."
"""Text of an empty difference."""


def render_diff(diff: RunDiff, base: PurePath | None = None) -> str:
    """Render a difference as Markdown."""
    parts = list(_parts(diff, base))
    head = f"# Difference between {escape(diff.a.id)} and {escape(diff.b.id)}\n\n{_sides(diff)}"
    return remove_control_characters("\n\n".join([head, *(parts or [NO_DIFFERENCE])]) + "\n")


def _sides(diff: RunDiff) -> str:
    return "\n".join(
        f"- **{escape(side.id)}** ({side.status.replace('_', ' ')}): {escape(side.question)}"
        for side in (diff.a, diff.b)
    )


def _parts(diff: RunDiff, base: PurePath | None) -> Iterator[str]:
    if diff.conclusions:
        yield "## Conclusions\n\n" + "\n\n".join(_conclusion(part, diff) for part in diff.conclusions)
    if diff.changed:
        noun = "finding is" if diff.unchanged == 1 else "findings are"
        same = f"{diff.unchanged} {noun} the same in both.\n\n" if diff.unchanged else ""
        yield "## Findings that changed\n\n" + same + "\n\n".join(_changed(finding, diff) for finding in diff.changed)
    for side in (diff.a, diff.b):
        yield from _only(side, base)
    if diff.metrics:
        yield "## Figures that differ\n\n" + _table(diff.metrics, diff)
    if diff.program:
        yield "## The program\n\n" + format_code_block(diff.program, "diff")


def _conclusion(conclusion: ChangedConclusion, diff: RunDiff) -> str:
    texts = ((diff.a, conclusion.a), (diff.b, conclusion.b))
    lines = [f"- {escape(side.id)}: {escape(text) or '—'}" for side, text in texts]
    return "\n".join([f"**{conclusion.part.capitalize()}**", "", *lines])


def _changed(finding: ChangedFinding, diff: RunDiff) -> str:
    how = {
        "reworded": finding.text_differs,
        "different support": finding.support_differs,
        "different sources": finding.evidence_differs,
    }
    changes = ", ".join(words for words, holds in how.items() if holds)
    statements = ((diff.a, finding.a), (diff.b, finding.b))
    lines = [f"- {escape(side.id)}: {_statement(statement)}" for side, statement in statements]
    return "\n".join([f"**{escape(finding.b.topic)}**: {changes}", "", *lines])


def _statement(statement: DiffStatement) -> str:
    """Render a statement with its status and its quotes."""
    status = f" *({STATUS_WORDS[statement.status]})*" if STATUS_WORDS[statement.status] else ""
    quotes = "; ".join(f"“{escape(quote.quote)}” ({escape(quote.title)})" for quote in statement.quotes)
    return f"{escape(statement.text)}{status}" + (f" From: {quotes}" if quotes else "")


def _only(side: DiffSide, base: PurePath | None) -> Iterator[str]:
    """Yield the parts that only one of the runs has."""
    lists: tuple[tuple[str, Iterable[str]], ...] = (
        ("Findings", (f"{_statement(statement)} *({escape(statement.topic)})*" for statement in side.findings)),
        ("Contradictions", (_contradiction(contradiction) for contradiction in side.contradictions)),
        (
            "Sources",
            (f"*{escape(source.title)}*, {write_line((make_address(source.uri, base),))}" for source in side.sources),
        ),
    )
    for kind, items in lists:
        if lines := "\n".join(f"- {item}" for item in items):
            yield f"## {kind} of {escape(side.id)} alone\n\n{lines}"


def _contradiction(contradiction: UnsharedContradiction) -> str:
    """Render both quotes with the titles of their sources."""
    about = f"{escape(contradiction.about)}: " if contradiction.about else ""
    sides = ((contradiction.a, contradiction.a_title), (contradiction.b, contradiction.b_title))
    return about + " against ".join(f"“{escape(quote)}” ({escape(title)})" for quote, title in sides)


def _table(figures: Iterable[ChangedMetric], diff: RunDiff) -> str:
    rows = [f"| {_cell(figure.name)} | {_number(figure.a)} | {_number(figure.b)} |" for figure in figures]
    return "\n".join([f"| | {_cell(diff.a.id)} | {_cell(diff.b.id)} |", "|---|---|---|", *rows])


def _cell(text: str) -> str:
    return escape_cell(escape(text))


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:,.4g}" if value < 1 else f"{value:,.10g}"
