"""Set claims as nodes: paragraphs, lists, tables, definitions, code and excerpts with their citations."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tenure.algorithms.text.printable import flatten, remove_control_characters
from tenure.contracts.evidence.passages import ClaimKind
from tenure.contracts.result.result import ResultCitation, ResultClaim, SourceEntry
from tenure.report.layout.blocks import CitedClaim, LayoutBlock, cite, split_into_blocks
from tenure.report.layout.charts import CHART, CHART_WITH_UNIT, find_series, list_years
from tenure.report.layout.excerpts import (
    ELLIPSIS,
    ExcerptGroup,
    format_excerpt_place,
    group_excerpt,
    split_cells,
)
from tenure.report.layout.marks import (
    EMPTY_CELL,
    NUMERIC,
    STATUS_WORDS,
    SUPPORTED,
    CitationMarks,
    describe_excerpt,
    describe_state,
    describe_status,
    list_sources,
    make_unsourced_mark,
    needs_source,
)
from tenure.report.layout.program import find_language
from tenure.report.layout.text import format_words, make_line, split_sentence_spans, split_spans
from tenure.report.layout.tree import (
    BlockNode,
    ChartNode,
    CitationMark,
    CitationNode,
    CodeNode,
    DefinitionsNode,
    Line,
    ListNode,
    ParagraphNode,
    PartNode,
    PictureNode,
    QuoteContext,
    QuoteNode,
    StatementNode,
    TableNode,
    TextSpan,
)
from tenure.report.sources.links import build_text_fragment
from tenure.report.sources.places import FROM_PICTURE, describe_place
from tenure.report.translation import translate, translate_note

_CODE_LINE = re.compile(r"^(?: {4}|\t|@\w)", re.MULTILINE)
"""Beginning of a line of code in the stored text of a source, such as `    return x` or `@decorator`."""

_EMPTY_CELL = (TextSpan(EMPTY_CELL),)


class ClaimLayout:
    """Layout of claims, with citation marks numbered through the report.

    Args:
        sources: the sources by number; a missing source has no title.
        marks: format of the citation marks.
        is_taint_marked: whether sentences that instructions to language models may have influenced are marked.
    """

    def __init__(
        self,
        sources: Mapping[int, SourceEntry] = MappingProxyType({}),
        marks: CitationMarks = NUMERIC,
        *,
        is_taint_marked: bool = True,
    ) -> None:
        self._sources, self._marks, self._is_taint_marked = sources, marks, is_taint_marked
        self._count = 0
        self._shown: set[int] = set()

    def set_claims(self, claims: Sequence[ResultClaim], expected: ClaimKind = "fact") -> tuple[BlockNode, ...]:
        """Return claims as blocks; those below a sub-heading are a sub-part.

        Claims of the `expected` kind have no remark on it, since the heading of the text explains it.
        """
        blocks: list[BlockNode] = []
        for block in split_into_blocks(claims):
            nodes = tuple(self._set_block(block, expected))
            if block.heading:
                blocks.append(PartNode("", flatten(block.heading), nodes))
            elif blocks and isinstance(blocks[-1], PartNode):
                blocks[-1] = replace(blocks[-1], blocks=(*blocks[-1].blocks, *nodes))
            else:
                blocks += nodes
        return tuple(blocks)

    def set_sentence(self, claim: ResultClaim) -> Line:
        """Return a single sentence with its citation."""
        return self._set_claim(cite(claim), "fact")

    def set_pictures(self, claims: Iterable[ResultClaim]) -> Iterator[PictureNode]:
        """Yield the pictures from which a model has read sources of claims, each once in the report."""
        for number in dict.fromkeys(citation.source for claim in claims for citation in claim.citations):
            source = self._sources.get(number)
            if source is not None and source.picture and number not in self._shown:
                self._shown.add(number)
                title = flatten(source.title)
                caption = make_line(
                    title, " ", self._marks.mark(number), ", ", TextSpan(translate(FROM_PICTURE), "quiet")
                )
                yield PictureNode(source.picture, title, caption)

    def cite_quote(self, citation: ResultCitation) -> CitationNode:
        """Return the mark of a quote that no claim uses."""
        return CitationNode("", "supported", self._mark([(citation.source, (self._quote(citation),))]))

    def _set_block(self, block: LayoutBlock, expected: ClaimKind) -> Iterator[BlockNode]:
        if block.kind == "table":
            columns = ((), *map(split_spans, block.columns))
            rows = tuple(
                (split_spans(row.label), *(self._set_sentences(cell, expected) or _EMPTY_CELL for cell in row.cells))
                for row in block.rows
            )
            yield TableNode(columns, rows, labelled=True)
            yield from self._set_chart(block)
        elif block.kind == "definitions":
            yield DefinitionsNode(
                # Terms are of the writer, and "Short answer" is of the program.
                tuple(
                    (split_spans(translate(row.label)), self._set_sentences(row.cells[0], expected))
                    for row in block.rows
                )
            )
        elif block.kind == "code":
            for cited in block.claims:
                known = (self._sources[number].uri for number in cited.sources if number in self._sources)
                # Code in a text, such as one in Markdown, is in any language.
                language = find_language(*(uri for uri in known if not uri.endswith(".md")))
                yield CodeNode(_clean_code(cited.claim.text), language, self._cite(cited, expected))
        elif block.kind == "excerpt":
            yield self._set_excerpt(block)
        elif block.kind == "paragraph":
            yield ParagraphNode(self._set_sentences(block.claims, expected))
        else:
            items = tuple(self._set_claim(cited, expected) for cited in block.claims)
            yield ListNode(items, ordered=block.kind == "numbered")

    def _set_chart(self, block: LayoutBlock) -> Iterator[ChartNode]:
        """Yield the chart of a table with comparable figures."""
        if (found := find_series(block)) is None:
            return
        unit, categories, series = found
        words = translate(CHART_WITH_UNIT, unit=unit) if unit else translate(CHART)
        values = [value for one in series for value in one.values if value]
        sources = sorted({source for value in values for source in value.sources})
        caption = (TextSpan(words), CitationNode("", "supported", self._mark([(source, ()) for source in sources])))
        text = f"{words}: {', '.join(one.name for one in series)}"
        yield ChartNode(categories, series, unit, text, caption, list_years(categories))

    def _set_sentences(self, claims: Sequence[CitedClaim], expected: ClaimKind) -> Line:
        return _join([self._set_claim(cited, expected) for cited in claims])

    def _set_claim(self, cited: CitedClaim, expected: ClaimKind) -> Line:
        status = cited.claim.status if needs_source(cited.claim) else "supported"
        # A sentence that the program states, such as that nothing was found, is in the language of the report.
        text = translate_note(cited.claim.text) if cited.claim.kind == "gap" else cited.claim.text
        return (StatementNode(split_sentence_spans(text), status), *self._cite(cited, expected))

    def _cite(self, cited: CitedClaim, expected: ClaimKind) -> Line:
        """Return the remark on a claim and its citation marks, unless those of a later claim stand for both."""
        if not cited.marked:
            return ()
        quotes = [(source, self._list_quotes(source, cited.marked)) for source in cited.sources]
        note = describe_status(cited, expected, marks_taint=self._is_taint_marked)
        unsourced = "" if cited.sources or not needs_source(cited.claim) else make_unsourced_mark()
        if not (note or quotes or unsourced):
            return ()
        return (CitationNode(note, cited.claim.status, self._mark(quotes), unsourced),)

    def _list_quotes(self, source: int, claims: Sequence[ResultClaim]) -> tuple[QuoteContext, ...]:
        quotes = {
            (citation.start, citation.end): self._quote(citation, _describe_verdict(claim))
            for claim in claims
            for citation in claim.citations
            if citation.source == source
        }
        return tuple(quotes.values())

    def _mark(self, quotes: Sequence[tuple[int, tuple[QuoteContext, ...]]]) -> tuple[CitationMark, ...]:
        marks, last = [], len(quotes) - 1
        for n, (source, used) in enumerate(quotes):
            self._count += 1
            marks.append(
                CitationMark(
                    id=f"cite-{self._count}",
                    before="" if n else self._marks.opening,
                    label=self._marks.label(source),
                    after=self._marks.closing if n == last else self._marks.between,
                    source=source,
                    title=self._describe_source(source),
                    quotes=used,
                )
            )
        return tuple(marks)

    def _describe_source(self, number: int) -> str:
        """Return the title of a source, and what says that it may not hold today."""
        source = self._sources.get(number)
        return ", ".join(filter(None, (flatten(source.title), describe_state(source)))) if source else ""

    def _quote(self, citation: ResultCitation, verdict: str = "") -> QuoteContext:
        uri = self._sources[citation.source].uri if citation.source in self._sources else ""
        more = citation.start > len(citation.before) > 0
        return QuoteContext(
            before=(f"{ELLIPSIS} " if more else "") + flatten(citation.before),
            words=flatten(citation.quote),
            after=flatten(citation.after),
            place=describe_place(citation),
            link=build_text_fragment(uri, citation.quote),
            source=citation.source,
            span=(citation.start, citation.end),
            verdict=verdict,
            is_code=bool(_CODE_LINE.search(citation.quote)),
        )

    def _set_excerpt(self, block: LayoutBlock) -> QuoteNode:
        claims = [cited.claim for cited in block.claims]
        marks = self._mark([(source, (self._choose_quote(source, claims),)) for source in list_sources(block)])
        citation = CitationNode(describe_excerpt(block), "unverified", marks, "" if marks else make_unsourced_mark())
        blocks = (node for group in group_excerpt(claims) for node in _set_group(group))
        sources = [self._sources[mark.source] for mark in marks if mark.source in self._sources]
        states = (text for source in sources for text in (flatten(source.published), describe_state(source)))
        place = ", ".join(filter(None, (format_excerpt_place(claims), *states)))
        return QuoteNode(tuple(blocks), make_line(TextSpan(place, "quiet"), citation))

    def _choose_quote(self, source: int, claims: Sequence[ResultClaim]) -> QuoteContext:
        """Return the quote of an excerpt, its first answering sentence, with the place of the whole excerpt."""
        cited = [(claim, citation) for claim in claims for citation in claim.citations if citation.source == source]
        claim, citation = next((pair for pair in cited if pair[0].answers), cited[0])
        return replace(self._quote(citation, _describe_verdict(claim)), span=(cited[0][1].start, cited[-1][1].end))


def _set_group(group: ExcerptGroup) -> Iterator[BlockNode]:
    """Yield a paragraph, a list, a table or code of an excerpt; answers are strong."""
    gap = f"{ELLIPSIS} " if group.follows_gap else ""
    if group.kind == "code":
        if gap:
            yield ParagraphNode(make_line(ELLIPSIS))
        yield CodeNode(_clean_code(group.rows[0][0].text))
    elif group.kind == "table":
        rows = [[_set_words(row[0], cell) for cell in split_cells(row[0])] for row in group.rows]
        width = max(map(len, rows))
        pad = [()] * width
        columns = (*map(split_spans, group.columns), *pad)[:width] if group.columns else ()
        yield TableNode(columns, tuple((*row, *pad)[:width] for row in rows))
    else:
        lines = [_join([_set_words(claim, claim.text) for claim in row]) for row in group.rows]
        lines[0] = make_line(gap, lines[0])
        yield ListNode(tuple(lines)) if group.kind == "list" else ParagraphNode(lines[0])


def _set_words(claim: ResultClaim, text: str) -> Line:
    return format_words(text, "strong") if claim.answers else split_spans(text)


def _join(lines: Sequence[Line]) -> Line:
    return make_line(*(piece for n, line in enumerate(lines) for piece in ((" ", line) if n else (line,))))


def _clean_code(text: str) -> str:
    return remove_control_characters(text).rstrip("\n")


def _describe_verdict(claim: ResultClaim) -> str:
    return translate(STATUS_WORDS[claim.status] or SUPPORTED)
