"""The references of a report and the quotes under them: how a reader checks a citation.

The list of references stays short enough to read; the quotes follow source by source, in the order in
which they stand there, each with its place in the stored text and the parts of the report that use it.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tenure.contracts.result import Result, ResultClaim, SourceEntry
from tenure.report.prose import code, escape, flatten


class _Place(NamedTuple):
    start: int
    end: int
    quote: str


def references(result: Result, base: PurePath | None = None) -> str:
    """List the sources by number: title, author, date, path or address, day of reading.

    Args:
        result: the result document.
        base: folder to which paths are shown relative, where they are under it.
    """
    return "\n".join(f"- [{source.n}] {_reference(source, base)}" for source in result.sources)


def quotes(result: Result) -> str:
    """List the quoted words under each source, with their offsets and where the report uses them."""
    used = _uses(result)
    return "\n\n".join(
        "\n".join([f"**[{source.n}] {escape(source.title)}**", "", *_lines(used[source.n])])
        for source in result.sources
        if source.n in used
    )


def address(uri: str, base: PurePath | None = None) -> str:
    """Show where a source is: a web address as a link to itself, anything else as a literal path."""
    if urlsplit(uri).scheme in ("http", "https") and not set(uri) & set(" <>\\\n\r\t"):
        return f"<{flatten(uri)}>"
    path = PurePath(unquote(uri.removeprefix("file://")) if uri.startswith("file://") else uri)
    return code(str(path.relative_to(base) if base is not None and path.is_relative_to(base) else path))


def _reference(source: SourceEntry, base: PurePath | None) -> str:
    origin = ", ".join(escape(part) for part in (source.author, source.published) if part.strip())
    parts = [f"*{escape(source.title)}*", origin, address(source.uri, base), f"read {source.accessed[:10]}"]
    return ", ".join(part for part in parts if part) + "."


def _uses(result: Result) -> dict[int, dict[_Place, list[str]]]:
    """Map a source's number to its quotes and the parts of the report that rest on them."""
    used: dict[int, dict[_Place, list[str]]] = {}
    for part, claims in _parts(result):
        for citation in (citation for claim in claims for citation in claim.citations):
            place = _Place(citation.start, citation.end, citation.quote)
            parts = used.setdefault(citation.source, {}).setdefault(place, [])
            if part not in parts:
                parts.append(part)
    return used


def _parts(result: Result) -> Iterator[tuple[str, tuple[ResultClaim, ...]]]:
    yield "Abstract", result.abstract_claims
    for section in result.sections:
        yield section.topic, section.claims


def _lines(places: dict[_Place, list[str]]) -> Iterable[str]:
    for place in sorted(places):
        parts = "; ".join(escape(part) for part in places[place])
        yield f"- “{escape(place.quote)}” (characters {place.start}-{place.end}; in: {parts})"
