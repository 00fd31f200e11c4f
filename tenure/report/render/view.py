"""Build the view of a result document that templates render; it contains no markup.

HTML and PDF are rendered from the same view, so that they contain the same text. All untrusted text is flattened
here; escaping is left to the template, which knows its language. Remarks that the Markdown report also contains are
parsed from it, so that each is worded once.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.evidence.passages import ClaimKind
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultReasoning, SourceEntry
from tenure.contracts.run.budget import BudgetResource
from tenure.report.render import figures, layout, reasoning
from tenure.report.render.disputes import ShownDispute, Side, list_disputes
from tenure.report.render.escaping import TextSpan, flatten, split_sentence_spans, split_spans
from tenure.report.render.excerpts import ELLIPSIS, ExcerptGroup, format_excerpt_place, group_excerpt, split_cells
from tenure.report.render.layout import CLOSING_NOTES, COMPARISON, WHAT_FOLLOWS, SynthesisLayout, order_synthesis
from tenure.report.render.limits import describe_brief, describe_no_answer, list_all_claims, list_evidence_limits
from tenure.report.render.markdown import (
    CONSIDERATIONS_NOTE,
    FILES_NOTE,
    QUOTES_NOTE,
    SHORT_ANSWER,
    explain_status,
    render_feedback,
    render_no_evidence,
)
from tenure.report.render.marks import (
    STATUS_WORDS,
    CitationMarks,
    CitationStyle,
    describe_excerpt,
    describe_status,
    explain_marks,
    list_sources,
    make_marks,
    needs_source,
)
from tenure.report.render.news import HEADING, render_news
from tenure.report.render.page import (
    BlockView,
    ChapterView,
    CitedQuoteView,
    DisagreementsView,
    DisagreementView,
    ExcerptGroupView,
    ExcerptView,
    FigureView,
    MarkView,
    PartView,
    QuoteView,
    ReasoningView,
    ReferenceView,
    Remark,
    ReportPage,
    RowView,
    SentenceView,
    SideView,
    ThoughtView,
)
from tenure.report.render.program import render_files, render_program_body
from tenure.report.render.provenance import render_provenance
from tenure.report.render.references import collect_uses, sort_sources_by_label
from tenure.report.render.sources.links import build_text_fragment, choose_base, format_path, is_web
from tenure.report.render.sources.places import describe_place

MIN_POINTS = 3
"""Minimum number of values of a drawn course; fewer are legible as numbers."""

_READER = MarkdownIt("commonmark", {"html": False}).disable(["link", "image", "reference"])
"""Parser of our own Markdown, which has no links; the rules for them take quadratic time for brackets."""

_UNITS: dict[BudgetResource, str] = {
    "tokens": "tokens",
    "money": "US dollars",
    "calls": "model calls",
    "searches": "searches",
    "time": "seconds",
}


def build_page(result: Result, base: PurePath | None = None, style: CitationStyle = "numeric") -> ReportPage:
    """Build the view of a result document.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative if they are below it.
        style: format of citation marks.
    """
    named = make_marks(result.sources, style)
    setter = _PageBuilder({source.n: source for source in result.sources}, named)
    synthesis = order_synthesis(result.synthesis)
    return ReportPage(
        title=flatten(result.title),
        question=_choose_question(result),
        remark=explain_status(result),
        summary=_summary(result),
        opening=named.opening,
        between=named.between,
        closing=named.closing,
        news=parse_remarks(render_news(result)),
        news_heading=HEADING,
        nothing_found=parse_remarks(render_no_evidence(result))
        if result.status == "no_evidence" and result.mode != "CODE"
        else (),
        chapters=tuple(_chapters(result)),
        no_answer=describe_no_answer(result),
        short_answer_label=SHORT_ANSWER,
        short_answer=setter.build_blocks([result.short_answer] if result.short_answer else []),
        abstract=setter.build_blocks(result.abstract_claims),
        meanings=explain_marks(list_all_claims(result)),
        comparison=PartView("comparison", COMPARISON, setter.build_blocks(synthesis.comparison))
        if synthesis.comparison
        else None,
        brief_note=describe_brief(result),
        sections=tuple(
            PartView(f"section-{n}", flatten(section.topic), setter.build_blocks(section.claims))
            for n, section in enumerate(result.sections, 1)
        ),
        synthesis=_list_parts(synthesis.parts, setter),
        files=parse_remarks(f"{FILES_NOTE}\n\n{render_files(result)}")
        if result.artifacts and result.mode != "CODE"
        else (),
        disagreements=tuple(
            DisagreementsView(part.id, part.heading, tuple(map(setter.build_dispute, part.disputes)))
            for part in list_disputes(result)
        ),
        endings=tuple(
            PartView(
                "follows" if name == WHAT_FOLLOWS else "unknown",
                name,
                setter.build_blocks(claims, "inference" if name == WHAT_FOLLOWS else "gap"),
                CLOSING_NOTES[name],
            )
            for name, claims in synthesis.closing.items()
        ),
        reasoning=_reasoning(result.reasoning, synthesis, setter) if result.reasoning or synthesis.background else None,
        limits=tuple(split_spans(text) for text in list_evidence_limits(result)),
        beyond=CONSIDERATIONS_NOTE,
        further=tuple(split_spans(text) for text in result.further_considerations),
        feedback=parse_remarks("\n".join(render_feedback(word) for word in result.feedback)),
        coverage=tuple(_coverage(result)),
        gain=_gain(result.information_gain),
        budget=tuple(_budget(result)),
        how_to_check=QUOTES_NOTE,
        references=tuple(_references(result, base, style, setter)),
        provenance=parse_remarks(render_provenance(result)),
    )


def parse_remarks(markdown: str) -> tuple[Remark, ...]:
    """Parse our own Markdown of paragraphs, lists, headings and code into remarks."""
    kind: Literal["paragraph", "bullet", "heading"] = "paragraph"
    found: list[Remark] = []
    for token in _READER.parse(markdown):
        if token.type in ("list_item_open", "heading_open"):
            kind = "bullet" if token.tag == "li" else "heading"
        elif token.type in ("list_item_close", "heading_close"):
            kind = "paragraph"
        elif token.type == "inline":
            found.append(Remark(kind, tuple(_inline(token.children or ()))))
        elif token.type == "fence":
            found.append(Remark("code", (TextSpan(token.content.rstrip("\n"), "code"),)))
    return tuple(found)


def _inline(tokens: Iterable[Token]) -> Iterator[TextSpan]:
    kind: Literal["text", "em", "strong"] = "text"
    for token in tokens:
        if token.type in ("em_open", "strong_open"):
            kind = "em" if token.tag == "em" else "strong"
        elif token.type in ("em_close", "strong_close"):
            kind = "text"
        elif token.type == "code_inline":
            yield TextSpan(token.content, "code")
        else:
            yield TextSpan(token.content or " ", kind)


class _PageBuilder:
    """Builder of views, with marks numbered through the page."""

    def __init__(self, sources: dict[int, SourceEntry], marks: CitationMarks) -> None:
        self._sources, self._marks = sources, marks
        self._count = 0

    def build_blocks(self, claims: Sequence[ResultClaim], expected: ClaimKind = "fact") -> tuple[BlockView, ...]:
        """Return claims as paragraphs, lists, tables, definitions and code.

        Args:
            claims: the claims.
            expected: kind of claims that the heading of the text explains already, so that they have no remark.
        """
        return tuple(
            BlockView(
                kind=block.kind,
                heading=flatten(block.heading),
                sentences=()
                if block.rows or block.kind == "excerpt"
                else tuple(self._sentence(one, expected) for one in block.claims),
                columns=tuple(map(split_spans, block.columns)),
                rows=tuple(
                    RowView(
                        split_spans(row.label),
                        tuple(tuple(self._sentence(one, expected) for one in cell) for cell in row.cells),
                    )
                    for row in block.rows
                ),
                excerpt=self._excerpt(block) if block.kind == "excerpt" else None,
            )
            for block in layout.split_into_blocks(claims)
        )

    def _excerpt(self, block: layout.LayoutBlock) -> ExcerptView:
        claims = [one.claim for one in block.claims]
        return ExcerptView(
            groups=tuple(map(_group, group_excerpt(claims))),
            place=format_excerpt_place(claims),
            note=describe_excerpt(block),
            marks=tuple(self._mark_excerpt(source, claims) for source in list_sources(block)),
        )

    def _mark_excerpt(self, number: int, claims: Sequence[ResultClaim]) -> MarkView:
        """Return the mark of an excerpt, whose quote is its first answering sentence."""
        cited = [(claim, citation) for claim in claims for citation in claim.citations if citation.source == number]
        claim, citation = next((pair for pair in cited if pair[0].answers), cited[0])
        span = (cited[0][1].start, cited[-1][1].end)
        quote = dataclasses.replace(self.build_quote(citation, _verdict(claim)), span=span)
        return self._build_mark(number, (quote,))

    def build_sentence(self, claim: ResultClaim) -> SentenceView:
        """Return a single sentence."""
        return self._sentence(layout.cite(claim), "fact")

    def build_dispute(self, dispute: ShownDispute) -> DisagreementView:
        """Return a dispute with the quotes of its sides."""
        sides = tuple(self._side(side) for side in dispute.sides)
        return DisagreementView(dispute.words, sides, dispute.outcome)

    def _side(self, side: Side) -> SideView:
        source = self._sources[side.citation.source]
        label = self._marks.label(source.n)
        quote = self.build_quote(side.citation)
        return SideView(side.label, side.note, label, source.n, flatten(source.title), quote)

    def build_quote(self, citation: ResultCitation, verdict: str = "") -> QuoteView:
        """Return a quote."""
        return QuoteView(
            before=_before(citation),
            words=flatten(citation.quote),
            after=flatten(citation.after),
            place=describe_place(citation),
            link=build_text_fragment(self._sources[citation.source].uri, citation.quote),
            source=citation.source,
            span=(citation.start, citation.end),
            verdict=verdict,
        )

    def _sentence(self, one: layout.CitedClaim, expected: ClaimKind) -> SentenceView:
        claim = one.claim
        is_code = claim.begins == "code"
        return SentenceView(
            spans=(TextSpan(remove_control_characters(claim.text), "code"),)
            if is_code
            else split_sentence_spans(claim.text),
            status=claim.status if needs_source(claim) else "supported",
            note=describe_status(one, expected) if one.marked else "",
            marks=tuple(self._mark(source, one.marked) for source in one.sources) if one.marked else (),
            lacks_source=not one.sources and needs_source(claim),
        )

    def _mark(self, number: int, claims: Sequence[ResultClaim]) -> MarkView:
        quotes = {
            (citation.start, citation.end): self.build_quote(citation, _verdict(claim))
            for claim in claims
            for citation in claim.citations
            if citation.source == number
        }
        return self._build_mark(number, tuple(quotes.values()))

    def _build_mark(self, number: int, quotes: tuple[QuoteView, ...]) -> MarkView:
        self._count += 1
        title = flatten(self._sources[number].title)
        return MarkView(f"cite-{self._count}", self._marks.label(number), number, title, quotes)


def _group(group: ExcerptGroup) -> ExcerptGroupView:
    return ExcerptGroupView(
        kind=group.kind,
        before=f"{ELLIPSIS} " if group.follows_gap else "",
        columns=tuple(map(split_spans, group.columns)),
        rows=tuple(
            tuple(
                _mark_answer(claim, text)
                for claim in row
                for text in (split_cells(claim) if group.kind == "table" else (claim.text,))
            )
            for row in group.rows
        ),
    )


def _mark_answer(claim: ResultClaim, text: str) -> tuple[TextSpan, ...]:
    """Return words of an excerpt; those of an answer are strong, and code keeps its lines."""
    if claim.part == "code":
        return (TextSpan(remove_control_characters(text), "code"),)
    spans = split_spans(text)
    return tuple(TextSpan(s.text, "strong") if claim.answers and s.kind == "text" else s for s in spans)


def _before(citation: ResultCitation) -> str:
    """Return the words before a quote, with an ellipsis if the source has more."""
    more = citation.start > len(citation.before) > 0
    return ("… " if more else "") + flatten(citation.before)


def _verdict(claim: ResultClaim) -> str:
    return STATUS_WORDS[claim.status] or "supported"


def _summary(result: Result) -> str:
    """Count the excerpts of a brief, or the sentences that need sources by their status."""
    excerpts = sum(claim.begins == "excerpt" for claim in list_all_claims(result))
    times = Counter(claim.status for claim in list_all_claims(result) if needs_source(claim) and not claim.part)
    if excerpts:
        return f"{excerpts} excerpt{'' if excerpts == 1 else 's'} of {_count_sources(result)}."
    if not times:
        return ""
    counted = ", ".join(f"{number} {STATUS_WORDS[status] or 'supported'}" for status, number in times.most_common())
    total = times.total()
    return f"{total} sentence{'' if total == 1 else 's'}: {counted}. {len(result.sources)} sources."


def _count_sources(result: Result) -> str:
    number = len({c.source for claim in list_all_claims(result) if claim.part for c in claim.citations})
    return f"{number} source{'' if number == 1 else 's'}"


def _reasoning(line: ResultReasoning | None, synthesis: SynthesisLayout, setter: _PageBuilder) -> ReasoningView:
    conclusion = line.conclusion if line else None
    return ReasoningView(
        heading=reasoning.HEADING,
        opening=reasoning.describe_method(line) if line else "",
        steps=tuple(
            ThoughtView(reasoning.label(step), setter.build_sentence(step.claim))
            for step in (line.steps if line else ())
        ),
        conclusion=ThoughtView(reasoning.label(conclusion, concludes=True), setter.build_sentence(conclusion.claim))
        if conclusion
        else None,
        considered_heading=reasoning.NOT_FOLLOWED,
        considered=tuple(split_spans(reasoning.describe_alternatives(one)) for one in (line.rejected if line else ())),
        background=_list_parts(synthesis.background, setter),
    )


def _list_parts(parts: Mapping[str, Sequence[ResultClaim]], setter: _PageBuilder) -> tuple[PartView, ...]:
    """Return parts of the synthesis."""
    return tuple(PartView(name.lower(), name, setter.build_blocks(claims)) for name, claims in parts.items())


def _chapters(result: Result) -> Iterator[ChapterView]:
    """Yield the parts of a report on a program, which are written in Markdown."""
    read = parse_remarks("\n\n".join(render_program_body(result))) if result.mode == "CODE" else ()
    starts = [n for n, remark in enumerate(read) if n == 0 or remark.kind == "heading"]
    for number, (start, end) in enumerate(pairwise([*starts, len(read)]), 1):
        first = read[start]
        named = first.kind == "heading"
        heading = "".join(span.text for span in first.spans) if named else ""
        yield ChapterView(f"chapter-{number}", heading, read[start + named : end])


def _references(
    result: Result, base: PurePath | None, style: CitationStyle, setter: _PageBuilder
) -> Iterator[ReferenceView]:
    used = collect_uses(result)
    base = choose_base([source.uri for source in result.sources], base)
    for source, label in sort_sources_by_label(result, style):
        web = is_web(source.uri)
        origin = ", ".join(flatten(part) for part in (source.author, source.published) if part.strip())
        cited = sorted(used.get(source.n, {}).items(), key=lambda item: (item[0].start, item[0].end))
        yield ReferenceView(
            n=source.n,
            label=label,
            title=flatten(source.title),
            origin=origin,
            address=flatten(source.uri if web else format_path(source.uri, base)),
            link=source.uri if web else "",
            accessed=source.accessed[:10],
            suspicious=source.suspicious,
            gone=source.link == "dead",
            archived=source.archived if is_web(source.archived) else "",
            quotes=tuple(
                CitedQuoteView(
                    setter.build_quote(ResultCitation(source=source.n, **place._asdict())),
                    "; ".join(flatten(part) for part in parts),
                )
                for place, parts in cited
            ),
        )


def _coverage(result: Result) -> Iterator[FigureView]:
    """Draw the course of every topic's coverage, with its last value."""
    for topic, final in result.coverage.items():
        over_cycles = result.coverage_by_cycle.get(topic, ())
        words = "Coverage before the research and after each cycle: " + ", ".join(f"{c:.0%}" for c in over_cycles)
        drawn = figures.draw_line(over_cycles, words) if len(over_cycles) >= MIN_POINTS else ""
        yield FigureView(flatten(topic), f"{final:.0%}", drawn, words if over_cycles else "")


def _gain(gains: Sequence[float]) -> FigureView | None:
    if not gains:
        return None
    words = "Information gain by cycle: " + ", ".join(f"{gain:.2f}" for gain in gains)
    drawn = figures.draw_bars(gains, words) if len(gains) >= MIN_POINTS else ""
    return FigureView("Information gain by cycle", "", drawn, words)


def _choose_question(result: Result) -> str:
    """Return the question, or the title if it differs only in punctuation and case, so that it is shown once."""
    words = (re.findall(r"\w+", text.casefold()) for text in (result.question, result.title))
    return flatten(result.title) if next(words) == next(words) else flatten(result.question)


def _budget(result: Result) -> Iterator[FigureView]:
    """Draw the used share of each limit, and name usage without a limit."""
    usage = result.usage
    used: dict[BudgetResource, float | None] = {
        "tokens": usage.tokens_in + usage.tokens_out,
        "money": usage.cost_usd,
        "calls": usage.model_calls,
        "searches": usage.searches,
        "time": usage.seconds,
    }
    for resource, amount in used.items():
        limit = result.limits.get(resource)
        if limit:
            words = f"{amount or 0:,g} of {limit:,g} {_UNITS[resource]}"
            yield FigureView(resource.capitalize(), words, figures.draw_meter((amount or 0) / limit, words), words)
        elif amount:
            yield FigureView(resource.capitalize(), f"{amount:,g} {_UNITS[resource]}, no limit", "", "")
