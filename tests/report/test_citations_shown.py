"""Citations, sources and quotes agree in every format, for any combination of the parts of a report."""

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import count
from typing import Literal, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.choices import ReasoningStrategy
from tenure.contracts.evidence.disputes import Contradiction
from tenure.contracts.evidence.passages import (
    Block,
    Citation,
    Claim,
    ClaimBlockKind,
    ClaimKind,
    ClaimStatus,
    Draft,
    SynthesisDraft,
)
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep, RejectedThought
from tenure.contracts.research.report import ReportDraft, SectionDraft
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.changes import CitedStatement, QuotedSource, ReportChanges, RevisedStatement
from tenure.contracts.result.programs import CodeDraft
from tenure.contracts.result.result import EvaluatedPart, Evaluation, Result, ResultCitation, ResultClaim
from tenure.report.assemble import assemble_result
from tenure.report.diff.comparison import compare_results
from tenure.report.diff.markdown import render_diff
from tenure.report.render.docx import render_docx
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_answer, render_markdown
from tenure.report.render.pdf import render_pdf
from tenure.report.sources.bibliography import make_author_year_labels, render_bibtex, render_csl_json
from tests.report.render.test_docx import WordReader
from tests.report.render.test_pdf import words
from tests.report.samples import StoredSource
from tests.support.tiers import RUN_SLOW, slow

QUOTES_PER_SOURCE = 4
STORED = {
    SourceId(f"s{n}"): StoredSource(
        uri=f"https://site{n}.example/page" if n % 2 else f"/library/file{n}.md",
        title=f"Title{n}",
        text=" ".join(f"Quote {n} of {q} here." for q in range(QUOTES_PER_SOURCE)),
        author=("", "Ann Author", "Ann Author", "Bo Writer")[n % 4],
        published=("", "2024-05-01")[n // 2 % 2],
        derived=n == 4,
    )
    for n in range(6)
}
"""Stored sources; a seventh one is cited and not stored."""


@st.composite
def citations(draw: st.DrawFn) -> Citation:
    """Return a citation; some have a false quote, or a source that is not stored."""
    number = draw(st.integers(0, len(STORED)))
    quote = f"Quote {number} of {draw(st.integers(0, QUOTES_PER_SOURCE - 1))} here."
    source = SourceId(f"s{number}")
    start = STORED[source].text.index(quote) if source in STORED else 0
    shifted = draw(st.sampled_from((0, 0, 0, 0, 0, 1)))
    return Citation(source=source, start=start + shifted, end=start + shifted + len(quote), quote=quote)


@st.composite
def documents(draw: st.DrawFn) -> Result:
    """Return a result document with any of its parts."""
    numbers = count(1)

    def claim(block: ClaimBlockKind = "paragraph", number: int = 0) -> Claim:
        return Claim(
            text=f"Sentence {next(numbers)} says so.",
            kind=draw(st.sampled_from(get_args(ClaimKind))),
            label=f"Row {number // 2}" if block in ("table", "definitions") else "",
            column=f"Column {number % 2}" if block == "table" else "",
            status=draw(st.sampled_from(get_args(ClaimStatus))),
            citations=tuple(draw(st.lists(citations(), max_size=3))),
            part="paragraph" if block == "excerpt" else "",
            tainted=draw(st.booleans()),
        )

    def text(least: int = 0) -> Draft:
        blocks = []
        for size in draw(st.lists(st.integers(1, 3), min_size=least, max_size=2)):
            kind: ClaimBlockKind = draw(st.sampled_from(get_args(ClaimBlockKind)))
            heading = draw(st.sampled_from(("", "Part")))
            blocks.append(Block(kind=kind, heading=heading, claims=tuple(claim(kind, n) for n in range(size))))
        return Draft(blocks=tuple(blocks))

    def step() -> ReasoningStep:
        return ReasoningStep(kind="premise", claim=claim())

    sections = tuple(SectionDraft(topic=f"Topic{n}", draft=text(n % 2)) for n in range(draw(st.integers(0, 3))))
    reasoning = Reasoning(
        strategy=draw(st.sampled_from(get_args(ReasoningStrategy))),
        steps=tuple(step() for _ in range(draw(st.integers(0, 2)))),
        conclusion=step() if draw(st.booleans()) else None,
        confidence=0.5,
        rejected=(RejectedThought(text="Not so.", score=0.1, reason="weak"),) * draw(st.integers(0, 1)),
    )
    result = assemble_result(
        ReportDraft(
            id=RunId("run"),
            mode=draw(st.sampled_from(("RESEARCH", "RESEARCH", "CODE"))),
            question="Why?",
            title="Report",
            abstract=text(),
            sections=sections,
            reasoning=reasoning if draw(st.booleans()) else None,
            synthesis=SynthesisDraft(resolution=text(), gaps=text(), comparison=text()),
            contradictions=tuple(
                Contradiction(a=draw(citations()), b=draw(citations()), severity="low")
                for _ in range(draw(st.integers(0, 2)))
            ),
            evaluation=Evaluation(parts=(EvaluatedPart(part="Part1", answered="no"),)),
            numbered_sources=draw(st.sampled_from(((), (SourceId("s3"), SourceId("s5"))))),
            code=draw(st.sampled_from((None, CodeDraft()))),
            status=draw(st.sampled_from(("done", "finished_early", "cancelled", "failed", "no_evidence"))),
        ),
        STORED,
    )
    return result.model_copy(update={"changes": draw(st.sampled_from((None, CHANGES)))})


STATEMENT = CitedStatement(
    topic="Old topic", text="Old sentence.", quotes=(QuotedSource(uri="/gone.md", title="Gone", quote="Old words."),)
)
CHANGES = ReportChanges(
    at="2026-01-02",
    since="before",
    new=(STATEMENT,),
    changed=(RevisedStatement(before=STATEMENT, after=STATEMENT),),
    withdrawn=(STATEMENT,),
)

# 80 documents take 2 to 4 s of processor time a test, since each is written whole.
many = settings(
    max_examples=80 if RUN_SLOW else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


def list_claims(result: Result) -> list[ResultClaim]:
    """Return all sentences of a document."""
    return [
        *result.abstract_claims,
        *(claim for section in result.sections for claim in section.claims),
        *(result.reasoning.claims if result.reasoning else ()),
        *(result.synthesis.claims if result.synthesis else ()),
    ]


def list_citations(result: Result, *, excerpts: bool = True) -> list[ResultCitation]:
    """Return all citations of a document, or those of its sentences and contradictions, which its quotes list."""
    sides = [side for found in result.contradictions for side in (found.a, found.b)]
    claims = (claim for claim in list_claims(result) if excerpts or not claim.part)
    return [*(cited for claim in claims for cited in claim.citations), *sides]


def read_marks(text: str, labels: Sequence[str], opening: str, between: str, closing: str) -> set[str]:
    """Return the labels in the marks of a text."""
    label = "|".join(re.escape(one) for one in sorted(labels, key=len, reverse=True)) or "(?!)"
    mark = f"{re.escape(opening)}((?:{label})(?:{re.escape(between)}(?:{label}))*){re.escape(closing)}"
    return {one for found in re.findall(mark, text) for one in found.split(between)}


@many
@given(documents())
def test_the_document_lists_exactly_its_cited_sources(result: Result) -> None:
    """JSON and the bibliographies contain exactly the sources that a sentence or a contradiction cites."""
    dumped = json.loads(result.model_dump_json())
    assert {source["n"] for source in dumped["sources"]} == {cited.source for cited in list_citations(result)}
    assert render_bibtex(result.sources).count("@misc{") == len(result.sources)
    assert len(json.loads(render_csl_json(result.sources))) == len(result.sources)


@many
@given(documents(), st.sampled_from(("numeric", "author-year")))
def test_markdown_shows_what_it_cites(result: Result, style: Literal["numeric", "author-year"]) -> None:
    """Every sentence, mark, source and quote is shown, and no part is named that is not shown."""
    shown = render_markdown(result, style=style)
    body, _, rest = shown.partition("\n## References\n")
    references, _, quotes = rest.partition("\n## Quotes\n")
    references, *_ = re.split(r"\n## How this report was made\n", references)
    references, _, background = references.partition("\n## Reasoning\n")
    body += f"\n## Reasoning\n{background}"
    if style == "numeric":
        labels = {source.n: str(source.n) for source in result.sources}
        marks = read_marks(body, [str(n) for n in range(1, 10)], "[", ", ", "]")
    else:
        labels = make_author_year_labels(result.sources)
        marks = read_marks(body, list(labels.values()), "(", "; ", ")")

    assert marks == set(labels.values())
    assert references.count("\n- ") == len(result.sources)
    assert all(claim.text in body for claim in list_claims(result))
    assert set(re.findall(r"Quote \d of \d here\.", quotes)) == {
        cited.quote for cited in list_citations(result, excerpts=False)
    }
    parts = {part for line in re.findall(r"; in: ([^;)]+(?:; [^<;)]+)*)", quotes) for part in line.split("; ")}
    assert all(f"\n## {part}\n" in body for part in parts)


class PageReader(HTMLParser):
    """Ids, references to ids, and text of a page."""

    def __init__(self, page: str) -> None:
        """Read a page."""
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids and references to ids."""
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href" and (value or "").startswith("#"):
                self.targets.append((value or "")[1:])
            elif name in ("popovertarget", "aria-labelledby"):
                self.targets.append(value or "")

    def handle_data(self, data: str) -> None:
        """Collect text."""
        self.text += data


@many
@given(documents(), st.sampled_from(("numeric", "author-year")))
def test_html_shows_what_it_cites(result: Result, style: Literal["numeric", "author-year"]) -> None:
    """Every anchor has its target, every source a mark that leads to it, and every sentence and quote is shown."""
    html = render_html(result, style=style)
    page = PageReader(html)

    assert len(page.ids) == len(set(page.ids))
    assert set(page.targets) <= set(page.ids)
    sources = {f"source-{source.n}" for source in result.sources}
    assert {name for name in page.ids if name.startswith("source-")} == sources
    assert sources <= set(page.targets)
    assert all(claim.text in page.text for claim in list_claims(result))
    quotes = page.text.partition("Every citation mark above leads to words")[2]
    assert all(cited.quote in quotes for cited in list_citations(result, excerpts=False))
    parts = {part for line in re.findall(r"; in: ([^<\n]+)", html) for part in line.split("; ")}
    headings = re.findall(r"<h2[^>]*>([^<]*)</h2>", html)
    assert {part.strip() for part in parts} <= set(headings)


@slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(documents())
def test_a_pdf_shows_what_it_cites(result: Result) -> None:
    """Every sentence, every source and every quote is in the text of the PDF."""
    text = words(render_pdf(result))

    assert [claim.text for claim in list_claims(result) if claim.text not in text] == []
    assert [source.title for source in result.sources if f"[{source.n}] {source.title}" not in text] == []
    assert [cited.quote for cited in list_citations(result, excerpts=False) if f"“{cited.quote}”" not in text] == []


@slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(documents())
def test_a_word_document_shows_what_it_cites(result: Result) -> None:
    """Every sentence, source and quote is in the text, and every mark leads to the entry of its source."""
    written = WordReader(render_docx(result))

    assert [claim.text for claim in list_claims(result) if claim.text not in written.text] == []
    assert [source.title for source in result.sources if f"[{source.n}] {source.title}" not in written.text] == []
    quotes = [cited.quote for cited in list_citations(result, excerpts=False)]
    assert [quote for quote in quotes if f"“{quote}”" not in written.text] == []
    sources = {f"source_{source.n}" for source in result.sources}
    parts = {target for target in written.targets if target.startswith("part_")}  # of the contents
    assert written.targets == set(written.bookmarks) == sources | parts


@many
@given(documents())
def test_an_answer_shows_what_it_cites(result: Result) -> None:
    """The answer to a follow-up question lists its sources, each cited, and all of its quotes."""
    claims = result.sections[0].claims if result.sections else ()
    cited = [citation for claim in claims for citation in claim.citations]
    sources = tuple(source for source in result.sources if source.n in {one.source for one in cited})
    reply = AskReply(
        run=RunId("run"), question="Why?", standalone_question="Why?", status="answered", claims=claims, sources=sources
    )
    body, _, rest = render_answer(reply).partition("**Sources**")
    listed, _, quotes = rest.partition("**Quotes**")

    assert read_marks(body, [str(n) for n in range(1, 10)], "[", ", ", "]") == {str(one.n) for one in sources}
    assert listed.count("\n- [") == len(sources)
    assert all(one.quote in quotes for claim in claims if not claim.part for one in claim.citations)


@many
@given(documents(), documents())
def test_a_difference_quotes_what_it_names(a: Result, b: Result) -> None:
    """A difference has no numbered marks, since it has no references, and names the source of each quote."""
    shown = render_diff(compare_results(a, b))
    quotes = re.findall(r"“Quote (\d) of \d here\.”(?: \(Title(\d)\))?", shown)

    assert read_marks(shown, [str(n) for n in range(1, 10)], "[", ", ", "]") == set()
    assert [source for source, named in quotes if source != named] == []


@pytest.mark.parametrize("part", ["resolution", "gaps", "comparison"])
def test_a_synthesis_of_one_part_is_shown(part: str) -> None:
    """A document with a single part of a synthesis shows it, since its sources are listed."""
    quote = "Quote 1 of 0 here."
    alone = Claim(text="It is so.", citations=(Citation(source=SourceId("s1"), start=0, end=len(quote), quote=quote),))
    synthesis = SynthesisDraft.model_validate({part: Draft(blocks=(Block(claims=(alone,)),))})
    result = assemble_result(
        ReportDraft(id=RunId("run"), mode="RESEARCH", question="Why?", synthesis=synthesis), STORED
    )

    assert "It is so." in render_markdown(result)
    assert "It is so." in render_html(result)
