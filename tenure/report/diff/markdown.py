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


def render_diff(found: RunDiff, base: PurePath | None = None) -> str:
    """Render a difference as Markdown."""
    parts = list(_parts(found, base))
    head = f"# Difference between {escape(found.a.id)} and {escape(found.b.id)}\n\n{_sides(found)}"
    return remove_control_characters("\n\n".join([head, *(parts or [NO_DIFFERENCE])]) + "\n")


def _sides(found: RunDiff) -> str:
    return "\n".join(
        f"- **{escape(side.id)}** ({side.status.replace('_', ' ')}): {escape(side.question)}"
        for side in (found.a, found.b)
    )


def _parts(found: RunDiff, base: PurePath | None) -> Iterator[str]:
    if found.conclusions:
        yield "## Conclusions\n\n" + "\n\n".join(_conclusion(one, found) for one in found.conclusions)
    if found.changed:
        same = (
            f"{found.unchanged} finding{'' if found.unchanged == 1 else 's'} are the same in both.\n\n"
            if found.unchanged
            else ""
        )
        yield "## Findings that changed\n\n" + same + "\n\n".join(_changed(one, found) for one in found.changed)
    for side in (found.a, found.b):
        yield from _only(side, base)
    if found.metrics:
        yield "## Figures that differ\n\n" + _table(found.metrics, found)
    if found.program:
        yield "## The program\n\n" + format_code_block(found.program, "diff")


def _conclusion(one: ChangedConclusion, found: RunDiff) -> str:
    lines = [f"- {escape(side.id)}: {escape(text) or '—'}" for side, text in ((found.a, one.a), (found.b, one.b))]
    return "\n".join([f"**{one.part.capitalize()}**", "", *lines])


def _changed(one: ChangedFinding, found: RunDiff) -> str:
    how = {
        "reworded": one.text_differs,
        "different support": one.support_differs,
        "different sources": one.evidence_differs,
    }
    changes = ", ".join(words for words, holds in how.items() if holds)
    lines = [f"- {escape(side.id)}: {_statement(said)}" for side, said in ((found.a, one.a), (found.b, one.b))]
    return "\n".join([f"**{escape(one.b.topic)}**: {changes}", "", *lines])


def _statement(said: DiffStatement) -> str:
    """Render a statement with its status and its quotes."""
    status = f" *({STATUS_WORDS[said.status]})*" if STATUS_WORDS[said.status] else ""
    quotes = "; ".join(f"“{escape(quote.quote)}” ({escape(quote.title)})" for quote in said.quotes)
    return f"{escape(said.text)}{status}" + (f" From: {quotes}" if quotes else "")


def _only(side: DiffSide, base: PurePath | None) -> Iterator[str]:
    """Yield the parts that only one of the runs has."""
    lists: tuple[tuple[str, Iterable[str]], ...] = (
        ("Findings", (f"{_statement(said)} *({escape(said.topic)})*" for said in side.findings)),
        ("Contradictions", (_contradiction(one) for one in side.contradictions)),
        (
            "Sources",
            (f"*{escape(source.title)}*, {write_line((make_address(source.uri, base),))}" for source in side.sources),
        ),
    )
    for what, items in lists:
        if lines := "\n".join(f"- {item}" for item in items):
            yield f"## {what} of {escape(side.id)} alone\n\n{lines}"


def _contradiction(one: UnsharedContradiction) -> str:
    """Render both quotes with the titles of their sources."""
    about = f"{escape(one.about)}: " if one.about else ""
    return f"{about}“{escape(one.a)}” ({escape(one.a_title)}) against “{escape(one.b)}” ({escape(one.b_title)})"


def _table(figures: Iterable[ChangedMetric], found: RunDiff) -> str:
    rows = [f"| {_cell(one.name)} | {_number(one.a)} | {_number(one.b)} |" for one in figures]
    return "\n".join([f"| | {_cell(found.a.id)} | {_cell(found.b.id)} |", "|---|---|---|", *rows])


def _cell(text: str) -> str:
    return escape_cell(escape(text))


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:,.4g}" if value < 1 else f"{value:,.10g}"
