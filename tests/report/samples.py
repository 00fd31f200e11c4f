"""A small report draft over two stored sources, as a run would hand it to `assemble`."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.corpora import SkippedFile
from tenure.contracts.evidence.passages import Block, Citation, Claim, ClaimStatus, Draft, SynthesisDraft
from tenure.contracts.evidence.recognition import RecognizedWord
from tenure.contracts.research.report import ReportDraft, SectionDraft
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.programs import Attempt, AttemptFailure, Lesson, ProgramVerification, SourceFile
from tenure.contracts.result.result import (
    CritiqueRecord,
    EvaluatedPart,
    Evaluation,
    Result,
    ResultContradiction,
    ResultDisputeOutcome,
    ResultDisputeSource,
    ResultPosition,
)
from tenure.contracts.run.run import FallbackRecord, FeedbackRecord, RoleUsage, Usage
from tenure.contracts.sandbox import Artifact
from tenure.report.assemble import assemble_result


@dataclass(frozen=True)
class StoredSource:
    """A stored source with what the report needs of it."""

    uri: str
    title: str
    text: str
    author: str = ""
    published: str = ""
    accessed: str = "2026-11-20T09:30:00+00:00"
    pages: tuple[int, ...] = ()
    derived: bool = False
    kind: str = "prose"
    words: tuple[RecognizedWord, ...] = ()
    place: str = ""
    is_retired: bool = False

    def find_page(self, offset: int) -> int | None:
        """Return the number of the page at an offset."""
        return bisect_right(self.pages, offset) or None

    def find_place(self, offset: int) -> str:
        """Return the same label for all offsets."""
        return self.place

    def find_words(self, start: int, end: int) -> Sequence[RecognizedWord]:
        """Return the recognized words between two offsets."""
        return [word for word in self.words if word.start < end and word.end > start]


TIDES, MOON = SourceId("tides"), SourceId("moon")

SOURCES = {
    TIDES: StoredSource(
        uri="/library/notes/tides.md",
        title="On tides",
        text="# Tides\n\nThe sea rises twice a day. The sea also falls twice a day.\nNeap tides are weak.\n",
        author="Ann Author",
        published="2024-05-01",
    ),
    MOON: StoredSource(
        uri="https://moon.example/pull?a=1", title="The Moon's pull", text="The Moon pulls the water towards it."
    ),
}


def cite(source: SourceId, quote: str) -> Citation:
    """Return a citation of words of a sample source."""
    start = SOURCES[source].text.index(quote)
    return Citation(source=source, chunk=ChunkId(f"{source}:{start}"), start=start, end=start + len(quote), quote=quote)


def claim(source: SourceId, quote: str) -> Claim:
    """Claim a quote's own words."""
    return Claim(text=quote, status="supported", citations=(cite(source, quote),))


RISES = claim(TIDES, "The sea rises twice a day.")
FALLS = claim(TIDES, "The sea also falls twice a day.")
NEAP = claim(TIDES, "Neap tides are weak.")
PULLS = claim(MOON, "The Moon pulls the water towards it.")


def paragraph(*claims: Claim) -> Draft:
    """Set claims as one paragraph."""
    return Draft(blocks=(Block(claims=claims),))


def report(**changes: object) -> ReportDraft:
    """Return a realistic draft with some fields changed."""
    draft = ReportDraft(
        id=RunId("research/why-tides-1a2b"),
        mode="RESEARCH",
        question="Why are there tides?",
        title="Why the sea moves",
        abstract=paragraph(PULLS),
        sections=(
            SectionDraft(topic="The rhythm", draft=paragraph(RISES, FALLS, PULLS), coverage=0.8),
            SectionDraft(
                topic="Weak tides", draft=Draft(blocks=(Block(kind="bullets", claims=(NEAP, PULLS)),)), coverage=0.5
            ),
        ),
        further_considerations=("A world with two moons would have a stranger rhythm.",),
        critiques=(CritiqueRecord(topic="Weak tides", critique="Too short.", outcome="Two passages added."),),
        decisions=("Stopped: nothing left to improve.",),
        feedback=(FeedbackRecord(text="Say more on neap tides", topic="Weak tides", at="2026-11-20T09:31:00+00:00"),),
        information_gain=(0.41, 0.12),
        limits={"searches": 10},
        usage=Usage(
            calls=9,
            searches=3,
            seconds=4.25,
            by_role={
                "router": RoleUsage(calls=1, models=("offline",)),
                "report_writer": RoleUsage(calls=8, models=("gpt-5", "offline")),
            },
        ),
        fallbacks=(FallbackRecord(role="report_writer", reason="the answer was no JSON"),),
        skipped=(SkippedFile(path="/library/notes/locked.pdf", reason="encrypted"),),
        notes=("Corpus notes: 2 documents.",),
    )
    return draft.model_copy(update=changes)


def answer(question: str = "What pulls the sea?") -> AskReply:
    """Return an answer to a follow-up question, with the claims and sources of the sample report."""
    result = assemble_result(report(), SOURCES)
    return AskReply(
        run=RunId("one"),
        question=question,
        standalone_question=question,
        status="answered",
        claims=result.sections[0].claims,
        sources=result.sources,
    )


def full(**changes: object) -> Result:
    """Return a result document in which every part has something to show, with some fields changed."""
    doubtful: dict[ClaimStatus, str] = {
        "unverified": "The sea is old.",
        "neutral": "The sea is wide.",
        "refuted": "The sea never rises.",
        "invalid_source": "The sea is on paper.",
    }
    claims = [
        Claim(text=text, status=status, confidence=0.4, citations=NEAP.citations) for status, text in doubtful.items()
    ]
    claims.append(Claim(text="The sea is blue.", status="missing_citation"))
    draft = report(
        short_answer=PULLS.model_copy(update={"text": "The Moon"}),
        abstract=paragraph(PULLS, *claims),
        synthesis=SynthesisDraft(resolution=paragraph(RISES, NEAP, PULLS)),
        artifacts=(Artifact(name="tide.png", bytes=1200, sha256="ab" * 32, path="/library/kept/0-tide.png"),),
    )
    result = assemble_result(draft, SOURCES)
    rises, neap = (result.sections[n].claims[0].citations[0] for n in (0, 1))
    shown: dict[str, object] = {
        "contradictions": (ResultContradiction(a=rises, b=neap, severity="medium"),),
        "positions": (
            ResultPosition(
                position="Does the sea rise?",
                supporting=(rises,),
                contradicting=(neap,),
                supporting_passages=2,
                contradicting_passages=1,
                outcome=ResultDisputeOutcome(
                    status="disputed",
                    reason="Nothing decides.",
                    query="tides",
                    sources=(
                        ResultDisputeSource(citation=rises, side="a", published="2020", primary="others name it"),
                        ResultDisputeSource(citation=neap, side="b"),
                        ResultDisputeSource(citation=neap, side="b", published="2021", found=True),
                    ),
                ),
            ),
        ),
        "evaluation": Evaluation(
            parts=(
                EvaluatedPart(part="Why does the sea rise?", answered="yes"),
                EvaluatedPart(part="When is it still?", answered="partly"),
            ),
            issues=("Too short.",),
        ),
    }
    return result.model_copy(update=shown | changes)


def varied(**changes: object) -> Result:
    """Return a result document with every form of text, and with recommendations and gaps at its end."""
    cells = tuple(
        source.model_copy(update={"text": f"**{row}** | {column}", "label": row, "column": column})
        for row, source in (("Neap", NEAP), ("Spring", PULLS))
        for column in ("Cause", "Strength", "Times", "Remarks on a long coast")
    )
    code = RISES.model_copy(update={"text": "@tide.rise\ndef rise(sea):\n    return '[1] `up`'"})
    lead = Claim(text="The tides are these:", kind="lead_in")
    gap = Claim(text="No source says how old `rise()` is.", kind="gap")
    advice = PULLS.model_copy(update={"text": "Sail at *spring* tide.", "kind": "inference", "status": "unverified"})
    draft = Draft(
        blocks=(
            Block(claims=(lead, FALLS.model_copy(update={"kind": "inference"}))),
            Block(kind="numbered", heading="Two", claims=(RISES, FALLS)),
            Block(kind="definitions", heading="Two", claims=(NEAP.model_copy(update={"label": "Neap *tide*"}),)),
            Block(kind="code", heading="Code", claims=(code,)),
            Block(kind="table", heading="Code", claims=cells),
        )
    )
    synthesis = SynthesisDraft(
        resolution=paragraph(RISES, advice),
        gaps=paragraph(gap),
        comparison=Draft(blocks=(Block(kind="table", claims=cells[:3]),)),
    )
    sections = (SectionDraft(topic="The rhythm", draft=draft, coverage=0.8),)
    return assemble_result(report(sections=sections, synthesis=synthesis), SOURCES).model_copy(update=changes)


SHOWN = (
    "The sea rises twice a day. The sea also falls twice a day. [2]",
    "The sea is wide. [not confirmed]",
    "The sea is blue. [unsourced]",
    "tide.png, 1,200 bytes",
    "Severity: medium",
    "A world with two moons",
    "notes/tides.md",
    "Limits: 10 searches",
    "ended as done",
)
"""Texts of `full` that every format for reading shows."""


def hostile(words: str) -> Result:
    """Return a result document with the same words wherever a person, a model or a page may have put them."""
    text = f"{words} and more words of a page"
    source = StoredSource(uri="https://moon.example/pull?a=1", title=words, text=text, author=words, published=words)
    cited = Claim(text=words, citations=(Citation(source=MOON, start=0, end=len(text), quote=text),))
    draft = report(
        question=words,
        title=words,
        short_answer=cited,
        abstract=paragraph(cited),
        sections=(
            SectionDraft(topic=words, draft=Draft(blocks=(Block(kind="bullets", claims=(cited, Claim(text=words))),))),
        ),
        synthesis=SynthesisDraft(resolution=paragraph(cited, cited)),
        artifacts=(Artifact(name=words, bytes=1, sha256="ab" * 32, path=words),),
        further_considerations=(words,),
        critiques=(CritiqueRecord(topic=words, critique=words, outcome=words),),
        decisions=(words,),
        feedback=(FeedbackRecord(text=words, topic=words, at="2026-11-20T09:31:00+00:00", outcome=words),),
        fallbacks=(FallbackRecord(role="report_writer", reason=words),),
        skipped=(SkippedFile(path=words, reason=words),),
        notes=(words,),
        usage=Usage(model_calls=1),  # without a model, the language of the question is a limit
    )
    return assemble_result(draft, {MOON: source})


def programmed(text: str = "def double(n):\n    return 2 * n\n") -> Result:
    """Return the result document of a program that was repaired once."""
    file = SourceFile(path="double.py", text=text)
    first = SourceFile(path="double.py", text=f"{text}# first\n")
    failure = AttemptFailure(test="test_double", error="assert 3 == 4")
    lesson = Lesson(failed="test_double", cause="It adds one.", change="Multiply by two.")
    tried: dict[str, Any] = {
        "generation": 1,
        "maker": "coder",
        "approach": "Multiply.",
        "total": 1,
        "stdout": "4\n",
        "seconds": 0.1,
    }
    attempts = (
        Attempt(**tried, n=1, files=(first,), failures=(failure,), reflection=lesson),
        Attempt(**tried, n=2, files=(file,), passed=1),
    )
    shown: dict[str, object] = {
        "mode": "CODE",
        "status": "done",
        "files": (file,),
        "tests": (SourceFile(path="test_double.py", text="assert double(2) == 4\n"),),
        "verification": ProgramVerification(test_author="person", passed=1, total=2, failures=(failure,)),
        "attempts": attempts,
    }
    return assemble_result(report(abstract=Draft(), sections=()), {}).model_copy(update=shown)


YEARS = ("2019", "2020", "2023")


def tabled(
    cell: Callable[[str, str], str], rows: Sequence[str], columns: Sequence[str], status: ClaimStatus = "supported"
) -> Result:
    """Return the result document of a report with one table, whose cells a function writes."""
    cells = tuple(
        RISES.model_copy(update={"text": cell(row, column), "label": row, "column": column, "status": status})
        for row in rows
        for column in columns
    )
    draft = Draft(blocks=(Block(kind="table", claims=cells),))
    return assemble_result(report(sections=(SectionDraft(topic="Figures", draft=draft, coverage=0.8),)), SOURCES)
