"""The references of a report and the quotes under them: how a reader checks a citation.

The list of references stays short enough to read; the quotes follow source by source, in the order in
which they stand there, each with its place in the stored text and the parts of the report that use it.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, SourceEntry
from tenure.report.render.escaping import code, escape
from tenure.report.render.links import is_web, shown_path, text_fragment
from tenure.report.render.marks import Style, marks


class Place(NamedTuple):
    """Quoted words and where they stand in their source."""

    start: int
    """First character."""
    end: int
    """One past the last."""
    quote: str
    """The words."""
    page: int | None
    """The page they begin on, where the source has pages."""


def references(result: Result, base: PurePath | None = None, style: Style = "numeric") -> str:
    """List the sources by number or label: title, author, date, path or address, day of reading.

    Args:
        result: the result document.
        base: folder to which paths are shown relative, where they are under it.
        style: how marks name sources.
    """
    return "\n".join(f"- {_label(label, style)} {reference(source, base)}" for source, label in labelled(result, style))


def quotes(result: Result, style: Style = "numeric") -> str:
    """List the quoted words under each source, with their offsets and where the report uses them."""
    used = uses(result)
    return "\n\n".join(
        "\n".join([f"**{_label(label, style)} {escape(source.title)}**", "", *_lines(source, used[source.n])])
        for source, label in labelled(result, style)
        if source.n in used
    )


def labelled(result: Result, style: Style) -> list[tuple[SourceEntry, str]]:
    """Return the sources with their labels in the order of the style: by number, or by the alphabet."""
    named = marks(result.sources, style)
    pairs = [(source, named.label(source.n)) for source in result.sources]
    return pairs if style == "numeric" else sorted(pairs, key=lambda pair: pair[1].casefold())


def address(uri: str, base: PurePath | None = None) -> str:
    """Show where a source is: a web address as a link to itself, anything else as a literal path."""
    return f"<{uri}>" if is_web(uri) else code(shown_path(uri, base))


def _label(label: str, style: Style) -> str:
    return f"[{label}]" if style == "numeric" else f"{escape(label)}:"


def reference(source: SourceEntry, base: PurePath | None) -> str:
    """Describe a source: title, author, date, path or address, day of reading."""
    origin = ", ".join(escape(part) for part in (source.author, source.published) if part.strip())
    parts = [
        f"*{escape(source.title)}*",
        origin,
        address(source.uri, base),
        f"read {source.accessed[:10]}",
        *_later(source),
    ]
    return ", ".join(part for part in parts if part) + "."


def _later(source: SourceEntry) -> Iterator[str]:
    """Say where to look for a page that is gone, or may go."""
    if source.link == "dead":
        yield "gone when the report was finished"
    if source.archived:
        yield f"archived at <{source.archived}>"


def uses(result: Result) -> dict[int, dict[Place, list[str]]]:
    """Map a source's number to its quotes and the parts of the report that rest on them."""
    used: dict[int, dict[Place, list[str]]] = {}
    for part, citations in _parts(result):
        for citation in citations:
            place = Place(citation.start, citation.end, citation.quote, citation.page)
            parts = used.setdefault(citation.source, {}).setdefault(place, [])
            if part not in parts:
                parts.append(part)
    return used


def _parts(result: Result) -> Iterator[tuple[str, list[ResultCitation]]]:
    yield "Abstract", _cited(result.abstract_claims)
    for section in result.sections:
        yield section.topic, _cited(section.claims)
    yield "Reasoning", _cited(result.reasoning.claims if result.reasoning else ())
    yield "Synthesis", _cited(result.synthesis.claims if result.synthesis else ())
    yield "Where sources disagree", [side for found in result.contradictions for side in (found.a, found.b)]


def _cited(claims: Iterable[ResultClaim]) -> list[ResultCitation]:
    return [citation for claim in claims for citation in claim.citations]


def _lines(source: SourceEntry, places: dict[Place, list[str]]) -> Iterable[str]:
    for place in sorted(places):
        parts = "; ".join(escape(part) for part in places[place])
        link = text_fragment(source.uri, place.quote)
        opened = f"; <{link}>" if link else ""
        page = f"page {place.page}, " if place.page else ""
        yield f"- “{escape(place.quote)}” ({page}characters {place.start}-{place.end}; in: {parts}{opened})"
