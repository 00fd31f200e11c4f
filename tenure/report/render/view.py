"""Build the view of a result document that templates render; it contains no markup.

HTML and PDF are rendered from the same view, so that they contain the same text. All untrusted text is flattened
here; escaping is left to the template, which knows its language. Remarks that the Markdown report also contains are
parsed from it, so that each is worded once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tenure.contracts.evidence.passages import ClaimStatus
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultReasoning, SourceEntry
from tenure.contracts.run.budget import BudgetResource
from tenure.report.render import figures, layout, reasoning
from tenure.report.render.disputes import ShownDispute, Side, list_disputes
from tenure.report.render.escaping import TextSpan, flatten, split_spans
from tenure.report.render.layout import split_synthesis
from tenure.report.render.limits import describe_no_answer, list_evidence_limits
from tenure.report.render.markdown import (
    CONSIDERATIONS_NOTE,
    FILES_NOTE,
    QUOTES_NOTE,
    SHORT_ANSWER,
    STATUS_LINES,
    render_feedback,
    render_no_evidence,
)
from tenure.report.render.marks import STATUS_WORDS, CitationMarks, CitationStyle, describe_status, make_marks
from tenure.report.render.news import HEADING, render_news
from tenure.report.render.program import render_files, render_program_body
from tenure.report.render.provenance import list_scores, render_provenance
from tenure.report.render.references import collect_uses, sort_sources_by_label
from tenure.report.render.sources.links import build_text_fragment, format_path, is_web

Line = tuple[TextSpan, ...]

_READER = MarkdownIt("commonmark", {"html": False})

_UNITS: dict[BudgetResource, str] = {
    "tokens": "tokens",
    "money": "US dollars",
    "calls": "model calls",
    "searches": "searches",
    "time": "seconds",
}


@dataclass(frozen=True)
class QuoteView:
    """Quote with its context."""

    before: str
    """Words of the source before the quote; empty if there are none."""
    words: str
    """The quoted words."""
    after: str
    """Words after the quote."""
    place: str
    """Position in the stored text."""
    link: str
    """URL that opens the page at the quote; empty if the source is not a page."""
    source: int
    """Number of the source."""
    span: tuple[int, int]
    """Offsets in the stored text."""
    verdict: str = ""
    """Remark on the support that it gives."""


@dataclass(frozen=True)
class MarkView:
    """Citation mark of one source."""

    id: str
    """Identifier, unique on the page."""
    label: str
    """Text of the mark."""
    source: int
    """Number of the source."""
    title: str
    """Title of the source."""
    quotes: tuple[QuoteView, ...]
    """Quotes that support the sentences."""


@dataclass(frozen=True)
class SentenceView:
    """One claim."""

    spans: Line
    """Its words."""
    status: ClaimStatus
    """Status of its support."""
    note: str
    """Remark on the status if a reader must see it; empty otherwise."""


@dataclass(frozen=True)
class SentenceRun:
    """Sentences that share citation marks."""

    sentences: tuple[SentenceView, ...]
    """The sentences."""
    marks: tuple[MarkView, ...]
    """One mark for each source; empty for sentences without citations."""


@dataclass(frozen=True)
class BlockView:
    """Paragraph or list."""

    kind: Literal["paragraph", "bullets"]
    """Paragraph or list."""
    runs: tuple[SentenceRun, ...]
    """Its runs."""


@dataclass(frozen=True)
class PartView:
    """Part of the report with a heading."""

    id: str
    """Identifier, unique on the page."""
    heading: str
    """The heading."""
    passages: tuple[BlockView, ...]
    """The text."""


@dataclass(frozen=True)
class ThoughtView:
    """Step of the reasoning."""

    label: str
    """Kind of the step and the steps it rests on."""
    run: SentenceRun
    """Its sentence."""


@dataclass(frozen=True)
class ReasoningView:
    """Line of reasoning."""

    heading: str
    opening: str
    """Description of the method."""
    steps: tuple[ThoughtView, ...]
    conclusion: ThoughtView | None
    considered_heading: str
    considered: tuple[Line, ...]
    """Discarded alternatives."""


@dataclass(frozen=True)
class Remark:
    """Paragraph, list item, code block or heading."""

    kind: Literal["paragraph", "bullet", "code", "heading"]
    """Kind of the remark."""
    spans: Line
    """The words; a code block is one span with its lines."""


@dataclass(frozen=True)
class ChapterView:
    """Part of a report on a program."""

    id: str
    """Identifier, unique on the page."""
    heading: str
    """The heading; empty for the text before the first heading."""
    remarks: tuple[Remark, ...]
    """Its remarks."""


@dataclass(frozen=True)
class SideView:
    """A quote on one side of a dispute."""

    position: str
    """Words that place the quote: for, against; empty for a statement of a contradiction."""
    note: str
    """Date and origin of the source; empty if unknown."""
    label: str
    """Label of its source."""
    source: int
    """Number of the source."""
    title: str
    """Title of the source."""
    quote: QuoteView
    """The quote."""


@dataclass(frozen=True)
class DisagreementView:
    """Dispute between sources."""

    words: str
    """Its subject."""
    sides: tuple[SideView, ...]
    """Quotes of both sides."""
    outcome: str
    """Outcome of the search for a primary or newer source; empty if it is unknown."""


@dataclass(frozen=True)
class DisagreementsView:
    """Part of a report with disputes."""

    id: str
    """Identifier, unique on the page."""
    heading: str
    """Its heading."""
    disputes: tuple[DisagreementView, ...]
    """Its disputes."""


@dataclass(frozen=True)
class CitedQuoteView:
    """Entry of the list of quotes."""

    quote: QuoteView
    """The quote."""
    parts: str
    """Parts of the report that use it."""


@dataclass(frozen=True)
class ReferenceView:
    """Entry of the list of references, with its quotes."""

    n: int
    """Number of the source."""
    label: str
    """Label in marks."""
    title: str
    """Title."""
    origin: str
    """Author and date."""
    address: str
    """Path or URL as text."""
    link: str
    """URL to open; empty if the source is not on the web."""
    accessed: str
    """Day of reading."""
    suspicious: bool
    """Whether it contains instructions to language models."""
    gone: bool
    """Whether it was unavailable when the report was finished."""
    archived: str
    """URL of an archived copy; empty without one."""
    quotes: tuple[CitedQuoteView, ...]
    """Quotes that the report uses."""


@dataclass(frozen=True)
class FigureView:
    """Figure with its name and its number in words."""

    name: str
    """Name of the figure."""
    value: str
    """Most important number in words; empty if the figure shows it."""
    svg: str
    """SVG image; empty if there is nothing to draw."""
    words: str
    """Description of the figure."""


@dataclass(frozen=True)
class ReportPage:
    """View of a report."""

    title: str
    question: str
    remark: str
    """First remark on the status of the run."""
    summary: str
    """Number of supported sentences."""
    opening: str
    """Text before the first label of a mark."""
    between: str
    """Text between two labels."""
    closing: str
    """Text after the last label."""
    news: tuple[Remark, ...]
    """Changes since the last report of a scheduled question."""
    news_heading: str
    nothing_found: tuple[Remark, ...]
    chapters: tuple[ChapterView, ...]
    no_answer: str
    """Remark on a report that answers no part of its question."""
    short_answer_label: str
    short_answer: tuple[BlockView, ...]
    """The answer in a few words; empty if there is none."""
    abstract: tuple[BlockView, ...]
    sections: tuple[PartView, ...]
    reasoning: ReasoningView | None
    synthesis: tuple[PartView, ...]
    files: tuple[Remark, ...]
    """Files that a program made for the report."""
    disagreements: tuple[DisagreementsView, ...]
    limits: tuple[Line, ...]
    beyond: str
    further: tuple[Line, ...]
    feedback: tuple[Remark, ...]
    coverage: tuple[FigureView, ...]
    gain: FigureView | None
    budget: tuple[FigureView, ...]
    evaluation: tuple[FigureView, ...]
    how_to_check: str
    references: tuple[ReferenceView, ...]
    provenance: tuple[Remark, ...]


def build_page(result: Result, base: PurePath | None = None, style: CitationStyle = "numeric") -> ReportPage:
    """Build the view of a result document.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative if they are below it.
        style: format of citation marks.
    """
    named = make_marks(result.sources, style)
    setter = _PageBuilder({source.n: source for source in result.sources}, named)
    return ReportPage(
        title=flatten(result.title),
        question=flatten(result.question),
        remark=STATUS_LINES[result.status],
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
        sections=tuple(
            PartView(f"section-{n}", flatten(section.topic), setter.build_blocks(section.claims))
            for n, section in enumerate(result.sections, 1)
        ),
        reasoning=_reasoning(result.reasoning, setter) if result.reasoning else None,
        synthesis=_synthesis(result, setter),
        files=parse_remarks(f"{FILES_NOTE}\n\n{render_files(result)}")
        if result.artifacts and result.mode != "CODE"
        else (),
        disagreements=tuple(
            DisagreementsView(part.id, part.heading, tuple(map(setter.build_dispute, part.disputes)))
            for part in list_disputes(result)
        ),
        limits=tuple(split_spans(text) for text in list_evidence_limits(result)),
        beyond=CONSIDERATIONS_NOTE,
        further=tuple(split_spans(text) for text in result.further_considerations),
        feedback=parse_remarks("\n".join(render_feedback(word) for word in result.feedback)),
        coverage=tuple(_coverage(result)),
        gain=_gain(result.information_gain),
        budget=tuple(_budget(result)),
        evaluation=tuple(_evaluation(result)),
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

    def build_blocks(self, claims: Sequence[ResultClaim]) -> tuple[BlockView, ...]:
        """Return claims as paragraphs and lists."""
        return tuple(
            BlockView(passage.kind, tuple(self._run(run) for run in passage.runs))
            for passage in layout.split_into_blocks(claims)
        )

    def build_sentence(self, claim: ResultClaim) -> SentenceRun:
        """Return a single sentence."""
        return self._run(layout.make_claim_run([claim]))

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
            place=(f"page {citation.page}, " if citation.page else "") + f"characters {citation.start}–{citation.end}",
            link=build_text_fragment(self._sources[citation.source].uri, citation.quote),
            source=citation.source,
            span=(citation.start, citation.end),
            verdict=verdict,
        )

    def _run(self, run: layout.ClaimRun) -> SentenceRun:
        return SentenceRun(
            tuple(
                SentenceView(split_spans(claim.text), claim.status, describe_status(claim, run)) for claim in run.claims
            ),
            tuple(self._mark(source, run.claims) for source in run.sources),
        )

    def _mark(self, number: int, claims: Sequence[ResultClaim]) -> MarkView:
        self._count += 1
        quotes = {
            (citation.start, citation.end): self.build_quote(citation, _verdict(claim))
            for claim in claims
            for citation in claim.citations
            if citation.source == number
        }
        title = flatten(self._sources[number].title)
        return MarkView(f"cite-{self._count}", self._marks.label(number), number, title, tuple(quotes.values()))


def _before(citation: ResultCitation) -> str:
    """Return the words before a quote, with an ellipsis if the source has more."""
    more = citation.start > len(citation.before) > 0
    return ("… " if more else "") + flatten(citation.before)


def _verdict(claim: ResultClaim) -> str:
    words = STATUS_WORDS[claim.status] or "supported"
    return words if claim.confidence is None else f"{words}, confidence {claim.confidence:.0%}"


def _summary(result: Result) -> str:
    """Count the sentences by their status."""
    sections = [claim for section in result.sections for claim in section.claims]
    thoughts = result.reasoning.claims if result.reasoning else ()
    synthesis = result.synthesis.claims if result.synthesis else ()
    times = Counter(claim.status for claim in (*result.abstract_claims, *sections, *thoughts, *synthesis))
    if not times:
        return ""
    counted = ", ".join(f"{number} {STATUS_WORDS[status] or 'supported'}" for status, number in times.most_common())
    total = times.total()
    return f"{total} sentence{'' if total == 1 else 's'}: {counted}. {len(result.sources)} sources."


def _reasoning(line: ResultReasoning, setter: _PageBuilder) -> ReasoningView:
    return ReasoningView(
        heading=reasoning.HEADING,
        opening=reasoning.describe_method(line),
        steps=tuple(ThoughtView(reasoning.label(step), setter.build_sentence(step.claim)) for step in line.steps),
        conclusion=ThoughtView(
            reasoning.label(line.conclusion, concludes=True), setter.build_sentence(line.conclusion.claim)
        )
        if line.conclusion
        else None,
        considered_heading=reasoning.NOT_FOLLOWED,
        considered=tuple(split_spans(reasoning.describe_alternatives(one)) for one in line.rejected),
    )


def _synthesis(result: Result, setter: _PageBuilder) -> tuple[PartView, ...]:
    """Return the parts of the synthesis."""
    parts = split_synthesis(result.synthesis) if result.synthesis else {}
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
    for source, label in sort_sources_by_label(result, style):
        web = is_web(source.uri)
        origin = ", ".join(flatten(part) for part in (source.author, source.published) if part.strip())
        cited = sorted(used.get(source.n, {}).items())
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
        drawn = figures.draw_line(over_cycles, words) if over_cycles else ""
        yield FigureView(flatten(topic), f"{final:.0%}", drawn, words if over_cycles else "")


def _gain(gains: Sequence[float]) -> FigureView | None:
    if not gains:
        return None
    words = "Information gain by cycle: " + ", ".join(f"{gain:.2f}" for gain in gains)
    return FigureView("Information gain by cycle", "", figures.draw_bars(gains, words), words)


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


def _evaluation(result: Result) -> Iterator[FigureView]:
    if result.evaluation is None:
        return
    for name, score in list_scores(result.evaluation).items():
        words = f"{name.capitalize()} {score:.0%}"
        yield FigureView(name.capitalize(), f"{score:.0%}", figures.draw_meter(score, words), words)
