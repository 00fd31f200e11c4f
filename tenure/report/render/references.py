"""Render the references of a report and the quotes below them, by which a reader checks a citation.

The list of references is short; the quotes follow source by source, in the order of the source, each with its offsets
in the stored text and the parts of the report that use it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from tenure.contracts.knowledge.memory import is_personal
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, SourceEntry
from tenure.report.render.disputes import list_disputes
from tenure.report.render.escaping import escape, format_code_span
from tenure.report.render.layout import COMPARISON, order_synthesis
from tenure.report.render.marks import CitationStyle, make_marks
from tenure.report.render.sources.links import build_text_fragment, choose_base, format_path, is_web
from tenure.report.render.sources.places import describe_place

_CODE_LINE = re.compile(r"^(?: {4}|\t|@\w)", re.MULTILINE)
"""Beginning of a line of code in the stored text of a source."""


class QuotePlace(NamedTuple):
    """Quote with its position in the source."""

    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    quote: str
    """The quoted text."""
    page: int | None
    """Page on which the quote begins, or None if the source has no pages."""
    line: int | None
    """Line of the file on which the quote begins, or None if it is unknown."""
    file_start: int | None
    """Offset of the quote in the file, or None if it is unknown."""
    heading: str
    """Nearest heading before the quote; empty if there is none."""


def render_references(result: Result, base: PurePath | None = None, style: CitationStyle = "numeric") -> str:
    """Return the sources by number or label: title, author, date, path or URL, day of reading.

    Args:
        result: the result document.
        base: folder to which paths are shown relative if they are below it.
        style: format of citation marks.
    """
    base = choose_base([source.uri for source in result.sources], base)
    return "\n".join(
        f"- {_label(label, style)} {render_reference(source, base)}"
        for source, label in sort_sources_by_label(result, style)
    )


def render_quotes(result: Result, style: CitationStyle = "numeric") -> str:
    """Return the quotes below each source, with their offsets and the parts that use them."""
    used = collect_uses(result)
    return "\n\n".join(
        "\n".join([f"**{_label(label, style)} {escape(source.title)}**", "", *_lines(source, used[source.n])])
        for source, label in sort_sources_by_label(result, style)
        if source.n in used
    )


def sort_sources_by_label(result: Result, style: CitationStyle) -> list[tuple[SourceEntry, str]]:
    """Return the sources with their labels in the order of the style: by number or alphabetically."""
    named = make_marks(result.sources, style)
    pairs = [(source, named.label(source.n)) for source in result.sources]
    return pairs if style == "numeric" else sorted(pairs, key=lambda pair: pair[1].casefold())


def render_address(uri: str, base: PurePath | None = None) -> str:
    """Return the location of a source: a URL as a link to itself, anything else as a literal path."""
    return f"<{uri}>" if is_web(uri) else format_code_span(format_path(uri, base))


def render_quote(quote: str) -> str:
    """Return a quote on one line in quotation marks, or as a code span if its lines are code."""
    return format_code_span(quote) if _CODE_LINE.search(quote) else f"“{escape(quote)}”"


def _label(label: str, style: CitationStyle) -> str:
    return f"[{label}]" if style == "numeric" else f"{escape(label)}:"


def render_reference(source: SourceEntry, base: PurePath | None) -> str:
    """Return a source's title, author, date, path or URL, and day of reading; a memory has its day in the title."""
    if is_personal(source.uri):
        return f"*{escape(source.title)}*, {render_address(source.uri)}."
    origin = ", ".join(escape(part) for part in (source.author, source.published) if part.strip())
    parts = [
        f"*{escape(source.title)}*",
        origin,
        render_address(source.uri, base),
        f"read {source.accessed[:10]}",
        *_describe_state(source),
    ]
    return ", ".join(part for part in parts if part) + "."


def _describe_state(source: SourceEntry) -> Iterator[str]:
    """Return remarks on a source: instructions to language models, a page that is gone, an archived copy."""
    if source.suspicious:
        yield "gives instructions to language models"
    if source.link == "dead":
        yield "no longer available when the report was finished"
    if source.archived:
        yield f"archived at <{source.archived}>"


def collect_uses(result: Result) -> dict[int, dict[QuotePlace, list[str]]]:
    """Return the quotes of each source by its number, with the parts of the report that use them."""
    used: dict[int, dict[QuotePlace, list[str]]] = {}
    for part, citations in _parts(result):
        for citation in citations:
            place = QuotePlace(
                citation.start,
                citation.end,
                citation.quote,
                citation.page,
                citation.line,
                citation.file_start,
                citation.heading,
            )
            parts = used.setdefault(citation.source, {}).setdefault(place, [])
            if part not in parts:
                parts.append(part)
    return used


def _parts(result: Result) -> Iterator[tuple[str, list[ResultCitation]]]:
    synthesis = order_synthesis(result.synthesis)
    yield "Abstract", _cited(result.abstract_claims)
    yield COMPARISON, _cited(synthesis.comparison)
    for section in result.sections:
        yield section.topic, _cited(section.claims)
    yield "Synthesis", _cited(claim for claims in synthesis.parts.values() for claim in claims)
    for part in list_disputes(result):
        yield part.heading, [side.citation for dispute in part.disputes for side in dispute.sides]
    for heading, claims in synthesis.closing.items():
        yield heading, _cited(claims)
    yield "Reasoning", _cited(result.reasoning.claims if result.reasoning else ())
    yield "Reasoning", _cited(claim for claims in synthesis.background.values() for claim in claims)


def _cited(claims: Iterable[ResultClaim]) -> list[ResultCitation]:
    """Return the citations of claims except those of excerpts, which are quotes themselves."""
    return [citation for claim in claims if not claim.part for citation in claim.citations]


def _lines(source: SourceEntry, places: dict[QuotePlace, list[str]]) -> Iterable[str]:
    for place in sorted(places, key=lambda place: (place.start, place.end)):
        parts = "; ".join(escape(part) for part in places[place])
        link = build_text_fragment(source.uri, place.quote)
        opened = f"; <{link}>" if link else ""
        yield f"- {render_quote(place.quote)} ({escape(describe_place(place))}; in: {parts}{opened})"
