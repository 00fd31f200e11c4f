"""What a page shows of a result document, taken apart for a template: nothing here is markup yet.

HTML and PDF are set from the same view, so that they say the same. All foreign text is flattened on its
way in; making it harmless is the template's part, which knows what its language acts on. Remarks that
Markdown reports have too are read from there, so that each is worded once.
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
from tenure.contracts.run.budget import Resource
from tenure.report.render import figures, layout, reasoning
from tenure.report.render.escaping import Span, flatten, spans
from tenure.report.render.layout import parted
from tenure.report.render.limits import evidence_limits
from tenure.report.render.links import is_web, shown_path, text_fragment
from tenure.report.render.markdown import (
    BEYOND,
    FILES_MADE,
    HOW_TO_CHECK,
    STATUS_LINES,
    handled,
    nothing_found,
    severity,
)
from tenure.report.render.marks import STATUS_WORDS, Marks, Style, marks, note
from tenure.report.render.news import HEADING, news
from tenure.report.render.program import made_files, program_body
from tenure.report.render.provenance import provenance
from tenure.report.render.references import labelled, uses

Line = tuple[Span, ...]

_READER = MarkdownIt("commonmark", {"html": False})

_UNITS: dict[Resource, str] = {
    "tokens": "tokens",
    "money": "US dollars",
    "calls": "model calls",
    "searches": "searches",
    "time": "seconds",
}


@dataclass(frozen=True)
class Quote:
    """Quoted words in their context."""

    before: str
    """Words of the source before them; empty where there are none to show."""
    words: str
    """The words."""
    after: str
    """Words after them."""
    place: str
    """Where they stand in the stored text."""
    link: str
    """Address that opens the page at the words; empty where the source is no page."""
    verdict: str = ""
    """What is known of the support they give, in words."""


@dataclass(frozen=True)
class Mark:
    """The mark that leads from sentences to one source."""

    id: str
    """Unique on the page."""
    label: str
    """What it shows."""
    source: int
    """Number of the source."""
    title: str
    """Title of the source."""
    quotes: tuple[Quote, ...]
    """What the sentences rest on there."""


@dataclass(frozen=True)
class Sentence:
    """One claim."""

    spans: Line
    """Its words."""
    status: ClaimStatus
    """What is known of its support."""
    note: str
    """The same in a word where a reader has to see it; empty elsewhere."""


@dataclass(frozen=True)
class Run:
    """Sentences and the marks they share."""

    sentences: tuple[Sentence, ...]
    """The sentences."""
    marks: tuple[Mark, ...]
    """One for each source; none for sentences that cite nothing."""


@dataclass(frozen=True)
class Passage:
    """A paragraph or a list."""

    kind: Literal["paragraph", "bullets"]
    """Which of the two."""
    runs: tuple[Run, ...]
    """Its runs."""


@dataclass(frozen=True)
class Part:
    """A part of the report under a heading."""

    id: str
    """Unique on the page."""
    heading: str
    """The heading."""
    passages: tuple[Passage, ...]
    """The text."""


@dataclass(frozen=True)
class Thought:
    """A step of the reasoning."""

    label: str
    """What it is and what it rests on."""
    run: Run
    """Its sentence."""


@dataclass(frozen=True)
class LineOfThought:
    """The reasoning."""

    heading: str
    opening: str
    """How it was reasoned."""
    steps: tuple[Thought, ...]
    conclusion: Thought | None
    considered_heading: str
    considered: tuple[Line, ...]
    """What was weighed and not followed."""


@dataclass(frozen=True)
class Remark:
    """Words that are set alike in every format: a paragraph, an item of a list, a block of code, or a heading."""

    kind: Literal["paragraph", "bullet", "code", "heading"]
    """What the words are."""
    spans: Line
    """The words; a block of code is one span with its lines."""


@dataclass(frozen=True)
class Chapter:
    """A part of a report on a program."""

    id: str
    """Unique on the page."""
    heading: str
    """The heading; empty for what stands before the first one."""
    remarks: tuple[Remark, ...]
    """What it says."""


@dataclass(frozen=True)
class Side:
    """One side of a disagreement."""

    label: str
    """What names its source."""
    source: int
    """Number of the source."""
    title: str
    """Title of the source."""
    quote: Quote
    """What it says."""


@dataclass(frozen=True)
class Disagreement:
    """Two sources that contradict each other."""

    words: str
    """How much it matters."""
    sides: tuple[Side, Side]
    """What they say."""


@dataclass(frozen=True)
class Cited:
    """A quote in the list of quotes."""

    quote: Quote
    """The words."""
    parts: str
    """Parts of the report that rest on them."""


@dataclass(frozen=True)
class Reference:
    """An entry of the list of references, with its quotes."""

    n: int
    """Number of the source."""
    label: str
    """What marks show."""
    title: str
    """Its title."""
    origin: str
    """Author and date."""
    address: str
    """Where it is, to read."""
    link: str
    """Where it is, to open; empty for what is not on the web."""
    accessed: str
    """Day on which it was read."""
    gone: bool
    """Whether it was gone when the report was finished."""
    archived: str
    """Where an archive has it, to open; empty without one."""
    quotes: tuple[Cited, ...]
    """Its words that the report rests on."""


@dataclass(frozen=True)
class Figure:
    """A picture with its name and its number in words."""

    name: str
    """What it shows."""
    value: str
    """The number that matters most, in words; empty where the picture has it."""
    svg: str
    """The picture; empty where there is nothing to draw."""
    words: str
    """What the picture says, in words."""


@dataclass(frozen=True)
class Page:
    """A report, taken apart."""

    title: str
    question: str
    remark: str
    """How the run ended, where a reader has to know it first."""
    summary: str
    """How many sentences are supported."""
    opening: str
    """What opens a mark."""
    between: str
    """What stands between two labels of one."""
    closing: str
    """What closes it."""
    news: tuple[Remark, ...]
    """What a report of a standing question brings over the last one."""
    news_heading: str
    nothing_found: tuple[Remark, ...]
    chapters: tuple[Chapter, ...]
    abstract: tuple[Passage, ...]
    sections: tuple[Part, ...]
    reasoning: LineOfThought | None
    synthesis: tuple[Part, ...]
    files: tuple[Remark, ...]
    """Files that a program made for the report."""
    disagreements: tuple[Disagreement, ...]
    limits: tuple[Line, ...]
    beyond: str
    further: tuple[Line, ...]
    feedback: tuple[Remark, ...]
    coverage: tuple[Figure, ...]
    gain: Figure | None
    budget: tuple[Figure, ...]
    evaluation: tuple[Figure, ...]
    how_to_check: str
    references: tuple[Reference, ...]
    provenance: tuple[Remark, ...]


def page(result: Result, base: PurePath | None = None, style: Style = "numeric") -> Page:
    """Take a result document apart for a template.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative, where they are under it.
        style: how marks name sources.
    """
    named = marks(result.sources, style)
    setter = _Setter({source.n: source for source in result.sources}, named)
    return Page(
        title=flatten(result.title),
        question=flatten(result.question),
        remark=STATUS_LINES[result.status],
        summary=_summary(result),
        opening=named.opening,
        between=named.between,
        closing=named.closing,
        news=remarks(news(result)),
        news_heading=HEADING,
        nothing_found=remarks(nothing_found(result))
        if result.status == "no_evidence" and result.mode != "CODE"
        else (),
        chapters=tuple(_chapters(result)),
        abstract=setter.passages(result.abstract_claims),
        sections=tuple(
            Part(f"section-{n}", flatten(section.topic), setter.passages(section.claims))
            for n, section in enumerate(result.sections, 1)
        ),
        reasoning=_reasoning(result.reasoning, setter) if result.reasoning else None,
        synthesis=_synthesis(result, setter),
        files=remarks(f"{FILES_MADE}\n\n{made_files(result)}") if result.artifacts and result.mode != "CODE" else (),
        disagreements=tuple(
            Disagreement(severity(found), (setter.side(found.a), setter.side(found.b)))
            for found in result.contradictions
        ),
        limits=tuple(spans(text) for text in evidence_limits(result)),
        beyond=BEYOND,
        further=tuple(spans(text) for text in result.further_considerations),
        feedback=remarks("\n".join(handled(word) for word in result.feedback)),
        coverage=tuple(_coverage(result)),
        gain=_gain(result.information_gain),
        budget=tuple(_budget(result)),
        evaluation=tuple(_evaluation(result)),
        how_to_check=HOW_TO_CHECK,
        references=tuple(_references(result, base, style, setter)),
        provenance=remarks(provenance(result)),
    )


def remarks(markdown: str) -> tuple[Remark, ...]:
    """Read Markdown of ours, of paragraphs, plain lists, headings and code, back into what a template can set."""
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
            found.append(Remark("code", (Span(token.content.rstrip("\n"), "code"),)))
    return tuple(found)


def _inline(tokens: Iterable[Token]) -> Iterator[Span]:
    kind: Literal["text", "em", "strong"] = "text"
    for token in tokens:
        if token.type in ("em_open", "strong_open"):
            kind = "em" if token.tag == "em" else "strong"
        elif token.type in ("em_close", "strong_close"):
            kind = "text"
        elif token.type == "code_inline":
            yield Span(token.content, "code")
        else:
            yield Span(token.content or " ", kind)


class _Setter:
    """Sets claims with marks that are numbered through the page."""

    def __init__(self, sources: dict[int, SourceEntry], marks: Marks) -> None:
        self._sources, self._marks = sources, marks
        self._count = 0

    def passages(self, claims: Sequence[ResultClaim]) -> tuple[Passage, ...]:
        """Set claims as paragraphs and lists."""
        return tuple(
            Passage(passage.kind, tuple(self._run(run) for run in passage.runs)) for passage in layout.passages(claims)
        )

    def alone(self, claim: ResultClaim) -> Run:
        """Set a sentence that stands by itself."""
        return self._run(layout.run([claim]))

    def side(self, citation: ResultCitation) -> Side:
        """Set one side of a disagreement."""
        source = self._sources[citation.source]
        return Side(self._marks.label(source.n), source.n, flatten(source.title), self.quote(citation))

    def quote(self, citation: ResultCitation, verdict: str = "") -> Quote:
        """Set a quote."""
        return Quote(
            before=_before(citation),
            words=flatten(citation.quote),
            after=flatten(citation.after),
            place=(f"page {citation.page}, " if citation.page else "") + f"characters {citation.start}–{citation.end}",
            link=text_fragment(self._sources[citation.source].uri, citation.quote),
            verdict=verdict,
        )

    def _run(self, run: layout.Run) -> Run:
        return Run(
            tuple(Sentence(spans(claim.text), claim.status, note(claim, run)) for claim in run.claims),
            tuple(self._mark(source, run.claims) for source in run.sources),
        )

    def _mark(self, number: int, claims: Sequence[ResultClaim]) -> Mark:
        self._count += 1
        quotes = {
            (citation.start, citation.end): self.quote(citation, _verdict(claim))
            for claim in claims
            for citation in claim.citations
            if citation.source == number
        }
        title = flatten(self._sources[number].title)
        return Mark(f"cite-{self._count}", self._marks.label(number), number, title, tuple(quotes.values()))


def _before(citation: ResultCitation) -> str:
    """Return the words before a quote, with a sign that the source has more of them."""
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


def _reasoning(line: ResultReasoning, setter: _Setter) -> LineOfThought:
    return LineOfThought(
        heading=reasoning.HEADING,
        opening=reasoning.opening(line),
        steps=tuple(Thought(reasoning.label(step), setter.alone(step.claim)) for step in line.steps),
        conclusion=Thought(reasoning.label(line.conclusion, concludes=True), setter.alone(line.conclusion.claim))
        if line.conclusion
        else None,
        considered_heading=reasoning.NOT_FOLLOWED,
        considered=tuple(spans(reasoning.weighed(one)) for one in line.considered),
    )


def _synthesis(result: Result, setter: _Setter) -> tuple[Part, ...]:
    """Set what follows from it all; a single part by itself says nothing."""
    parts = parted(result.synthesis) if result.synthesis else {}
    if len(parts) < 2:
        return ()
    return tuple(Part(name.lower(), name, setter.passages(claims)) for name, claims in parts.items())


def _chapters(result: Result) -> Iterator[Chapter]:
    """Yield the parts of a report on a program, which are worded in Markdown."""
    read = remarks("\n\n".join(program_body(result))) if result.mode == "CODE" else ()
    starts = [n for n, remark in enumerate(read) if n == 0 or remark.kind == "heading"]
    for number, (start, end) in enumerate(pairwise([*starts, len(read)]), 1):
        first = read[start]
        named = first.kind == "heading"
        heading = "".join(span.text for span in first.spans) if named else ""
        yield Chapter(f"chapter-{number}", heading, read[start + named : end])


def _references(result: Result, base: PurePath | None, style: Style, setter: _Setter) -> Iterator[Reference]:
    used = uses(result)
    for source, label in labelled(result, style):
        web = is_web(source.uri)
        origin = ", ".join(flatten(part) for part in (source.author, source.published) if part.strip())
        cited = sorted(used.get(source.n, {}).items())
        yield Reference(
            n=source.n,
            label=label,
            title=flatten(source.title),
            origin=origin,
            address=flatten(source.uri if web else shown_path(source.uri, base)),
            link=source.uri if web else "",
            accessed=source.accessed[:10],
            gone=source.link == "dead",
            archived=source.archived if is_web(source.archived) else "",
            quotes=tuple(
                Cited(
                    setter.quote(ResultCitation(source=source.n, **place._asdict())),
                    "; ".join(flatten(part) for part in parts),
                )
                for place, parts in cited
            ),
        )


def _coverage(result: Result) -> Iterator[Figure]:
    """Draw the course of every topic's coverage, and what it came to in the end."""
    for topic, final in result.coverage.items():
        over_cycles = result.coverage_by_cycle.get(topic, ())
        words = "Coverage before the research and after each cycle: " + ", ".join(f"{c:.0%}" for c in over_cycles)
        drawn = figures.course(over_cycles, words) if over_cycles else ""
        yield Figure(flatten(topic), f"{final:.0%}", drawn, words if over_cycles else "")


def _gain(gains: Sequence[float]) -> Figure | None:
    if not gains:
        return None
    words = "Information gain by cycle: " + ", ".join(f"{gain:.2f}" for gain in gains)
    return Figure("Information gain by cycle", "", figures.bars(gains, words), words)


def _budget(result: Result) -> Iterator[Figure]:
    """Draw how much of each limit was used, and name what had none."""
    usage = result.usage
    used: dict[Resource, float | None] = {
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
            yield Figure(resource.capitalize(), words, figures.meter((amount or 0) / limit, words), words)
        elif amount:
            yield Figure(resource.capitalize(), f"{amount:,g} {_UNITS[resource]}, no limit", "", "")


def _evaluation(result: Result) -> Iterator[Figure]:
    if result.evaluation is None:
        return
    for name in ("consistency", "completeness", "factuality", "overall"):
        score = getattr(result.evaluation, name)
        words = f"{name.capitalize()} {score:.0%}"
        yield Figure(name.capitalize(), f"{score:.0%}", figures.meter(score, words), words)
