"""Set the references of a report, and the quotes by which a reader checks its citations.

The list of references is short; the quotes follow source by source, in the order of the source, each with its place and
the parts of the report that use it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from tenure.algorithms.text.printable import flatten
from tenure.contracts.knowledge.memory import is_personal
from tenure.contracts.result.result import SourceEntry
from tenure.report.layout.marks import CitationMarks, describe_state
from tenure.report.layout.text import format_words, make_code, make_line
from tenure.report.layout.tree import (
    AnchorNode,
    Line,
    LinkNode,
    ListNode,
    PartNode,
    QuoteContext,
    TextSpan,
    list_citations,
)
from tenure.report.sources.links import choose_base, format_path, is_web
from tenure.report.translation import format_day, mark_message, translate

QUOTES_NOTE = mark_message(
    "Every citation mark above leads to words of its source, quoted here verbatim (except for white space) with their "
    "place: in the file, if it is text and unchanged, else in the text that was read from it; and the nearest heading."
)
"""Remark before the quotes."""


def list_references(sources: Sequence[SourceEntry], marks: CitationMarks, base: PurePath | None) -> tuple[Line, ...]:
    """Return the sources with their labels: title, author, date, path or URL, day of reading."""
    base = choose_base([source.uri for source in sources], base)
    return tuple(
        make_line(AnchorNode(source.n, marks.mark(source.n)), " ", describe_source(source, base)) for source in sources
    )


def describe_source(source: SourceEntry, base: PurePath | None) -> Line:
    """Return a source's title, author, date, path or URL, and day of reading; a memory has its day in the title."""
    title, address = format_words(source.title), make_address(source.uri, base)
    if is_personal(source.uri):
        return make_line(title, ", ", address, translate("."))
    details = (source.author, source.published, describe_state(source))
    origin = ", ".join(flatten(part) for part in details if part.strip())
    return make_line(
        title,
        f", {origin}, " if origin else ", ",
        address,
        translate(", read {day}", day=format_day(source.accessed[:10])),
        translate(", contains words like instructions to language models") if source.suspicious else "",
        translate("."),
    )


def make_address(uri: str, base: PurePath | None = None) -> LinkNode | TextSpan:
    """Return the location of a source: a URL as a link to itself, anything else as a literal path."""
    return LinkNode(uri, uri) if is_web(uri) else make_code(format_path(uri, base))


def sort_sources(sources: Sequence[SourceEntry], marks: CitationMarks) -> list[SourceEntry]:
    """Return the sources in the order of their labels: by number or alphabetically."""
    return list(sources) if marks.label is str else sorted(sources, key=lambda source: marks.label(source.n).casefold())


def list_quotes(sources: Sequence[SourceEntry], marks: CitationMarks, parts: Sequence[PartNode]) -> Iterator[PartNode]:
    """Yield the quotes of each source with their places and the parts of the report that use them, each word once."""
    uses = _collect_uses(parts)
    for source in sources:
        if own := uses.get(source.n):
            items = (_set_quote(quote, headings) for quote, headings in _merge_overlaps(own.values()))
            yield PartNode("", f"{marks.mark(source.n)} {flatten(source.title)}", (ListNode(tuple(items)),))


_UsedQuote = tuple[QuoteContext, list[str]]
"""Quote with the headings of the parts that use it."""


def _collect_uses(parts: Sequence[PartNode]) -> Mapping[int, Mapping[tuple[int, int], _UsedQuote]]:
    """Return the quotes of each source by their offsets."""
    uses: dict[int, dict[tuple[int, int], _UsedQuote]] = {}
    for part in parts:
        quotes = (quote for node in list_citations(part) for mark in node.marks for quote in mark.quotes)
        for quote in quotes:
            _, headings = uses.setdefault(quote.source, {}).setdefault(quote.span, (quote, []))
            if part.heading not in headings:
                headings.append(part.heading)
    return uses


def _merge_overlaps(quotes: Iterable[_UsedQuote]) -> list[_UsedQuote]:
    """Return quotes in the order of the source, those that share words as one."""
    merged: list[_UsedQuote] = []
    for quote, headings in sorted(quotes, key=lambda used: (used[0].span[0], -used[0].span[1])):
        joined = _join(merged[-1][0], quote) if merged else None
        if joined is None:
            merged.append((quote, headings))
        else:
            merged[-1] = joined, list(dict.fromkeys((*merged[-1][1], *headings)))
    return merged


def _join(first: QuoteContext, second: QuoteContext) -> QuoteContext | None:
    """Return two quotes, of which the second begins later, as one; None if they share no words."""
    if second.span[0] >= first.span[1] or first.is_code != second.is_code:
        return None
    if second.span[1] <= first.span[1]:
        return first
    shared = next((n for n in range(len(second.words), 0, -1) if first.words.endswith(second.words[:n])), 0)
    end = (first.span[0], second.span[1])
    return replace(first, words=first.words + second.words[shared:], span=end) if shared else None


def _set_quote(quote: QuoteContext, headings: Sequence[str]) -> Line:
    words = make_code(quote.words) if quote.is_code else f"“{quote.words}”"
    link = ("; ", LinkNode(quote.link, translate("open the page at these words"))) if quote.link else ()
    used = translate("in: {parts}", parts="; ".join(headings))
    location = TextSpan(f"({quote.place}; {used}", "quiet")
    return make_line(words, " ", location, *link, TextSpan(")", "quiet"))
