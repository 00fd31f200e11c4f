"""Research path: outlines, sections, critiques, and the state that queries return."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract, SourceId
from tenure.contracts.choices import Complexity
from tenure.contracts.coding.repositories import RepositoryChange
from tenure.contracts.evidence.disputes import Contradiction, PositionEvidence
from tenure.contracts.evidence.passages import Claim, Draft, PassageRef, SynthesisDraft
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.research.learning import StrategyOutcome
from tenure.contracts.research.progress import ProgressUpdate
from tenure.contracts.research.trace import TracedTask
from tenure.contracts.result.programs import Attempt, CodeDraft
from tenure.contracts.result.result import Evaluation, ReportFacts
from tenure.contracts.run.run import (
    QueryType,
    RunProgress,
)


class SubQuestion(Contract):
    """Part of the question with its evidence; questions that depend on its answer use both."""

    question: str
    """Question as searched, with the answers it depends on inserted."""
    evidence: tuple[PassageRef, ...] = ()
    """Passages found, best first."""


class Topic(Contract):
    """A topic of the outline."""

    heading: str
    question: str
    """Question that the section answers; it drives retrieval."""
    queries: tuple[str, ...] = ()
    """First searches for it that the outliner has named, besides its question."""
    hypothetical_answer: str = ""
    """Hypothetical passage (HyDE); its embedding, averaged with that of the question, is the topic's query vector."""
    passages: tuple[PassageRef, ...] = ()
    """Passages that the outliner has read and found to answer a part of its question, most important first."""


class Critique(Contract):
    """An improvement requested by the reflector or by a person."""

    topic: str | None = None
    """Heading of the section; None requests a new section."""
    critique: str
    """Problem or missing content."""
    query: str = ""
    """Query for missing evidence, if any."""
    origin: Literal["reflector", "person"] = "reflector"


ReportPartKind = Literal["answer", "comparison", "section", "closing", "gaps"]
"""Kind of a part of a report: the answer with which it opens, the comparison, a section on a part of the question, what
follows for the reader, and what is not known."""


class ReportPart(Contract):
    """Part of a report."""

    kind: ReportPartKind
    heading: str = ""
    """Heading of a section, which is that of a topic; empty for other parts."""
    draft: Draft


class ReportText(Contract):
    """Text of a report, whose sentences are numbered through all parts, from 1."""

    title: str = ""
    """Title; empty for the question."""
    short_answer: str = ""
    """Answer in a few words; empty if there is none."""
    parts: tuple[ReportPart, ...] = ()
    """The parts in reading order."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All sentences in reading order."""
        return tuple(claim for part in self.parts for claim in part.draft.claims)

    @property
    def sections(self) -> dict[str, Draft]:
        """Texts of the sections by heading."""
        return {part.heading: part.draft for part in self.parts if part.kind == "section" and part.draft.claims}

    def get_draft(self, kind: ReportPartKind) -> Draft:
        """Return the text of a part that is no section; empty if there is none."""
        return next((part.draft for part in self.parts if part.kind == kind), Draft())

    def replace_drafts(self, drafts: Sequence[Draft]) -> "ReportText":
        """Return the text with other drafts of its parts; parts without text are dropped."""
        parts = (part.model_copy(update={"draft": draft}) for part, draft in zip(self.parts, drafts, strict=True))
        return self.model_copy(update={"parts": tuple(part for part in parts if part.draft.claims)})


class SectionVerdict(Contract):
    """Verdict of a review on a part of a report."""

    heading: str
    """Heading of the section; empty for the report as a whole."""
    action: Literal["NONE", "REWRITE", "SEARCH"]
    """`NONE` if nothing matters, `REWRITE` if the text has to change, `SEARCH` if evidence is missing."""
    critique: str = ""
    """Error or gap; empty for none."""
    query: str = ""
    """Search for missing evidence; empty for none."""


class ReportReview(Contract):
    """A review of a report, with its edits applied."""

    text: ReportText
    queries: tuple[str, ...] = ()
    """Searches for what it lacks."""
    verdicts: tuple[SectionVerdict, ...] = ()
    evaluation: Evaluation | None = None
    """Verdict of the model on the edited report; None if no model has judged it."""
    contradictions: tuple[Contradiction, ...] = ()
    considerations: tuple[str, ...] = ()
    """Considerations beyond the sources."""
    condemned: tuple[str, ...] = ()
    """Sentences that the review found unsupported and replaced or deleted."""
    removed: tuple[Claim, ...] = ()
    """Unsupported claims that it deleted."""
    unanswered: tuple[str, ...] = ()
    """Gaps that are left out, since it does not say whether the passages found for them close them."""
    refused_edits: int = 0
    """Number of edits that named no sentence of the text, or no passage."""


class SectionDraft(Contract):
    """A section of the report draft."""

    topic: str
    draft: Draft
    coverage: float = 0.0
    """Coverage of the topic, 0 to 1."""


class ReportDraft(ReportFacts):
    """The report before its sources are numbered."""

    title: str = ""
    short_answer: Claim | None = None
    """Answer in a few words with the quotes that state it; None if there is none."""
    abstract: Draft = Draft()
    sections: tuple[SectionDraft, ...] = ()
    reasoning: Reasoning | None = None
    """Line of reasoning from the evidence to an answer; None if there is none."""
    synthesis: SynthesisDraft = SynthesisDraft()
    """Situation, complication and resolution."""
    strategy_outcomes: tuple[StrategyOutcome, ...] = ()
    queries: tuple[str, ...] = ()
    """Queries with results, the most productive first."""
    contradictions: tuple[Contradiction, ...] = ()
    positions: tuple[PositionEvidence, ...] = ()
    code: CodeDraft | None = None
    """Program, if one was requested."""
    repository: RepositoryChange | None = None
    """Change of a repository, if one was requested."""
    numbered_sources: tuple[SourceId, ...] = ()
    """Sources already numbered in an earlier document, in order."""
    web_corpus: str = ""
    """Corpus of the web pages read; empty if the run did not read the web."""
    progress: ProgressUpdate | None = None
    """Last progress of the workflow that wrote it, which the run has not received."""


class RunState(Contract):
    """Answer of the `state` query: everything that may interest a person, the report included once it is written."""

    progress: RunProgress
    corpora: tuple[str, ...] = ()
    complexity: Complexity | None = None
    query_type: QueryType | None = None
    evidence: int = Field(default=0, ge=0)
    """Number of passages found for the question as a whole."""
    report: ReportDraft | None = None
    """Report, once its text is written."""
    tasks: tuple[TracedTask, ...] = ()
    """Latest tasks that used tools."""
    attempts: tuple[Attempt, ...] = ()
    paused: bool = False
    finishing: bool = False
    """Whether a person asked it to finish."""
    cycles: int = Field(default=0, ge=0)
    """Number of finished research cycles; a fork can start after each that this run performed itself."""
