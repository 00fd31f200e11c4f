"""The difference of two runs as Markdown that a person reads: conclusions first, then findings, sources and figures."""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from tenure.contracts.result.diff import Changed, Conclusion, Difference, Figure, Side, Statement
from tenure.report.render.escaping import escape
from tenure.report.render.marks import STATUS_WORDS
from tenure.report.render.program import fenced
from tenure.report.render.references import address

NOTHING = "The two reports say the same, from the same sources."
"""What is said where nothing differs."""


def render(found: Difference, base: PurePath | None = None) -> str:
    """Set a difference as Markdown.

    Args:
        found: the difference.
        base: folder to which paths of sources are shown relative, where they are under it.
    """
    parts = list(_parts(found, base))
    head = f"# What differs between {escape(found.a.id)} and {escape(found.b.id)}\n\n{_sides(found)}"
    return "\n\n".join([head, *(parts or [NOTHING])]) + "\n"


def _sides(found: Difference) -> str:
    return "\n".join(
        f"- **{escape(side.id)}** ({side.status.replace('_', ' ')}): {escape(side.question)}"
        for side in (found.a, found.b)
    )


def _parts(found: Difference, base: PurePath | None) -> Iterator[str]:
    if found.conclusions:
        yield "## Conclusions\n\n" + "\n\n".join(_conclusion(one, found) for one in found.conclusions)
    if found.changed:
        same = f"{found.same} finding{'' if found.same == 1 else 's'} are the same in both.\n\n" if found.same else ""
        yield "## Findings that changed\n\n" + same + "\n\n".join(_changed(one, found) for one in found.changed)
    for side in (found.a, found.b):
        yield from _only(side, base)
    if found.figures:
        yield "## Figures that differ\n\n" + _table(found.figures, found)
    if found.program:
        yield "## The program\n\n" + fenced(found.program, "diff")


def _conclusion(one: Conclusion, found: Difference) -> str:
    lines = [f"- {escape(side.id)}: {escape(text) or '—'}" for side, text in ((found.a, one.a), (found.b, one.b))]
    return "\n".join([f"**{one.part.capitalize()}**", "", *lines])


def _changed(one: Changed, found: Difference) -> str:
    how = {"said in other words": one.words, "supported otherwise": one.support, "from other sources": one.evidence}
    told = ", ".join(words for words, holds in how.items() if holds)
    lines = [f"- {escape(side.id)}: {_statement(said)}" for side, said in ((found.a, one.a), (found.b, one.b))]
    return "\n".join([f"**{escape(one.b.topic)}**: {told}", "", *lines])


def _statement(said: Statement) -> str:
    """Set a statement with what is known of its support, and the words that it rests on."""
    status = f" *({STATUS_WORDS[said.status]})*" if STATUS_WORDS[said.status] else ""
    quotes = "; ".join(f"“{escape(quote.text)}” ({escape(quote.title)})" for quote in said.quotes)
    return f"{escape(said.text)}{status}" + (f" From: {quotes}" if quotes else "")


def _only(side: Side, base: PurePath | None) -> Iterator[str]:
    """Yield what only one of the runs has."""
    lists: tuple[tuple[str, Iterable[str]], ...] = (
        ("Findings", (f"{_statement(said)} *({escape(said.topic)})*" for said in side.findings)),
        ("Contradictions", (f"“{escape(one.a)}” against “{escape(one.b)}”" for one in side.contradictions)),
        ("Sources", (f"*{escape(source.title)}*, {address(source.uri, base)}" for source in side.sources)),
    )
    for what, items in lists:
        if lines := "\n".join(f"- {item}" for item in items):
            yield f"## {what} of {escape(side.id)} alone\n\n{lines}"


def _table(figures: Iterable[Figure], found: Difference) -> str:
    rows = [f"| {_cell(one.name)} | {_number(one.a)} | {_number(one.b)} |" for one in figures]
    return "\n".join([f"| | {_cell(found.a.id)} | {_cell(found.b.id)} |", "|---|---|---|", *rows])


def _cell(text: str) -> str:
    return escape(text).replace("|", "\\|")


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:,.4g}" if value < 1 else f"{value:,.10g}"
