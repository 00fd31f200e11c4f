"""Result document of a run. Its JSON schema is published with the package."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.choices import ReasoningStrategy
from tenure.contracts.coding.repositories import RepositoryChange
from tenure.contracts.evidence.corpora import SkippedFile
from tenure.contracts.evidence.disputes import DisputeDecision, SideOfDispute
from tenure.contracts.evidence.passages import ClaimText
from tenure.contracts.evidence.reasoning import RejectedThought, StepKind
from tenure.contracts.evidence.web import WebReport
from tenure.contracts.result.changes import ReportChanges
from tenure.contracts.result.programs import Attempt, OriginalFile, ProgramVerification, SourceFile
from tenure.contracts.run.budget import BudgetResource
from tenure.contracts.run.run import FallbackRecord, FeedbackRecord, TaskMode, Usage
from tenure.contracts.sandbox import Artifact

BlockStart = Literal["paragraph", "bullet", "number", "cell", "definition", "code", "excerpt"]
"""Form of a claim that does not continue the paragraph before it: the first sentence of a paragraph, an item of a
bulleted or numbered list, a cell of a table, a definition, code, or the first part of an excerpt."""

ResultStatus = Literal["done", "finished_early", "cancelled", "no_evidence", "failing_tests", "unsupported", "failed"]


class SourceEntry(Contract):
    """A source in the list of references."""

    n: int = Field(ge=1)
    """Number in the report."""
    id: SourceId
    """Source id in the knowledge base."""
    uri: str
    """Path or URL."""
    title: str
    """Title."""
    author: str = ""
    """Author, if known."""
    published: str = ""
    """Publication date, if known."""
    version: str = ""
    """Version that its path names; empty if it names none."""
    retired: bool = False
    """Whether it calls itself deprecated or retired, by its path, its title or a notice at its beginning."""
    accessed: str
    """Time of reading, ISO 8601 in UTC."""
    suspicious: bool = False
    """Whether it contains instructions to language models (prompt injection)."""
    from_picture: bool = False
    """Whether a model has read it from a picture of a document."""
    picture: str = ""
    """JPEG image of the picture in Base64; empty for other sources, and if it could not be drawn."""
    page: int | None = Field(default=None, ge=1)
    """Page or slide with the picture; null for other sources."""
    derived: bool = False
    """Whether no document contains it: the run computed it (a calculation, a query, a program or a tool's answer), or
    it is the memory of a person's statement."""


class ResultCitation(Contract):
    """A quote; offsets count characters of the source's stored text."""

    source: int = Field(ge=1)
    """Number of the source in this document."""
    start: int = Field(ge=0)
    """Offset of the first character."""
    end: int = Field(gt=0)
    """Offset after the last character."""
    page: int | None = Field(default=None, ge=1)
    """Page or slide on which the quote starts, from 1; null for a source without pages."""
    on_slide: bool = False
    """Whether the page is a slide."""
    place: str = ""
    """Moment of a recording, attachment of a message, cells of a sheet or label of a picture; empty elsewhere."""
    line: int | None = Field(default=None, ge=1)
    """Line of the file on which the quote starts, from 1; null if the file is not text, has changed or repeats it."""
    file_start: int | None = Field(default=None, ge=0)
    """Offset of the first character in the file as it is on disk; null without a line or with markup in the file."""
    heading: str = ""
    """Nearest heading before the quote; empty if there is none."""
    row: int | None = Field(default=None, ge=1)
    """Row of the table in which the quote is, from 1, with the rows that name the columns; null outside of tables."""
    columns: tuple[str, ...] = ()
    """Names of the columns of the quoted cells."""
    quote: str
    """Quoted text."""
    from_picture: bool = False
    """Whether a model has read it from a picture."""
    recognized: bool = False
    """Whether it was recognized in a picture, which may have changed letters."""
    doubtful: tuple[str, ...] = ()
    """Words of the quote that were recognized with low confidence."""
    before: str = ""
    """Text of the source before the quote."""
    after: str = ""
    """Text of the source after the quote."""


class ResultClaim(ClaimText):
    """A sentence of the report with its citations."""

    heading: str = ""
    """Sub-heading of the block; empty for none."""
    citations: tuple[ResultCitation, ...] = ()
    """Quotes that support it."""
    begins: BlockStart | None = None
    """Form in which it begins; null if it continues the paragraph, the definition or the excerpt before it."""
    path: tuple[str, ...] = ()
    """Headings above an excerpt, outermost first, at its first part; empty elsewhere."""


class ResultSection(Contract):
    """A section of the report."""

    topic: str
    """Heading."""
    markdown: str
    """Text with numeric citation marks."""
    claims: tuple[ResultClaim, ...]
    """Sentences."""


class CritiqueRecord(Contract):
    """A critique of the report and its outcome."""

    topic: str | None = None
    """Section concerned; null for the whole report."""
    critique: str
    """Problem."""
    outcome: str
    """Action taken."""


class Synthesis(Contract):
    """Executive synthesis: conclusions, gaps and a comparison."""

    resolution: tuple[ResultClaim, ...] = ()
    """Conclusions and recommendations."""
    gaps: tuple[ResultClaim, ...] = ()
    """Gaps in the sources."""
    comparison: tuple[ResultClaim, ...] = ()
    """Table that compares the subjects of the question."""

    @property
    def claims(self) -> tuple[ResultClaim, ...]:
        """All sentences."""
        return (*self.resolution, *self.gaps, *self.comparison)


class ResultStep(Contract):
    """A step of the reasoning."""

    kind: StepKind
    """Type of the step."""
    claim: ResultClaim
    """Statement with its citations."""
    follows: tuple[int, ...] = ()
    """Numbers, from 1, of the earlier steps that it is based on."""
    link: str = ""
    """Connection to the previous step in a few words."""


class ResultReasoning(Contract):
    """Line of reasoning from the evidence to an answer."""

    strategy: ReasoningStrategy
    """Reasoning method."""
    steps: tuple[ResultStep, ...] = ()
    """Steps in order."""
    conclusion: ResultStep | None = None
    """Conclusion from the steps; null if nothing is concluded."""
    answer: str = ""
    """Conclusion in a few words, if there is one."""
    rejected: tuple[RejectedThought, ...] = ()
    """Thoughts that were not followed, or outvoted answers."""

    @property
    def claims(self) -> tuple[ResultClaim, ...]:
        """Sentences of the steps, the conclusion last."""
        statements = (*self.steps, *([self.conclusion] if self.conclusion else []))
        return tuple(step.claim for step in statements)


class EvaluatedPart(Contract):
    """A part of the question, as a model judges the report."""

    part: str
    """The part of the question."""
    answered: Literal["yes", "partly", "no"]
    """Whether the report answers it."""


class Evaluation(Contract):
    """Verdict of a model on the report."""

    parts: tuple[EvaluatedPart, ...] = ()
    """Parts of the question."""
    issues: tuple[str, ...] = ()
    """Errors of the report that remain after its review."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Parts of the question that the report does not answer."""
        return tuple(part.part for part in self.parts if part.answered == "no")


class ResultDisputeSource(SideOfDispute):
    """A source that takes a side in a dispute."""

    citation: ResultCitation
    """Its statement."""


class ResultDisputeOutcome(DisputeDecision):
    """Outcome of a dispute after the search for a primary or newer source."""

    sources: tuple[ResultDisputeSource, ...] = ()
    """Sources of both sides that the report shows, those that the search found last."""


class ResultContradiction(Contract):
    """A contradiction between two sources."""

    a: ResultCitation
    """First statement."""
    b: ResultCitation
    """Second statement."""
    severity: Literal["low", "medium", "high"]
    """Importance of the contradiction."""
    about: str = ""
    """Subject of the contradiction."""
    outcome: ResultDisputeOutcome | None = None
    """Outcome of the search for a primary or newer source; null if the run ended before."""


class ResultPosition(Contract):
    """A position with evidence for it and against it."""

    position: str
    """The position, which may be worded as a question."""
    supporting: tuple[ResultCitation, ...]
    """Quotes for it, best first."""
    contradicting: tuple[ResultCitation, ...]
    """Quotes against it, best first."""
    supporting_passages: int = 0
    """Number of passages for it, those without a quote here included."""
    contradicting_passages: int = 0
    """Number of passages against it, those without a quote here included."""
    neutral_passages: int = 0
    """Number of passages on it that take no side."""
    outcome: ResultDisputeOutcome | None = None
    """Outcome of the search for a primary or newer source; null if the run ended before."""


class ReportFacts(Contract):
    """Facts of a report that its draft and its result share."""

    id: RunId
    """Id of the run."""
    mode: TaskMode
    """Path taken: research or code."""
    question: str
    """Question of the run."""
    language: str = ""
    """Language of the headings and fixed sentences, ISO 639-1; of a draft, the one asked for, as it was written."""
    information_gain: tuple[float, ...] = ()
    """Information gain of each cycle; empty for a run of one pass."""
    further_considerations: tuple[str, ...] = ()
    """Considerations beyond the sources, without citations."""
    evaluation: Evaluation | None = None
    """Verdict of a model on the report; null if no model has judged it."""
    critiques: tuple[CritiqueRecord, ...] = ()
    """Critiques of the report and their outcomes."""
    decisions: tuple[str, ...] = ()
    """Reasons for continuing or ending the run, in order."""
    feedback: tuple[FeedbackRecord, ...] = ()
    """Feedback received during the run and its outcomes."""
    usage: Usage = Usage()
    """Usage of the run."""
    limits: dict[BudgetResource, float] = {}
    """Budget of each limited resource: tokens, dollars, calls, searches, seconds."""
    fallbacks: tuple[FallbackRecord, ...] = ()
    """Calls answered by a fallback instead of the model."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files that were not read, with the reasons."""
    notes: tuple[str, ...] = ()
    """Run log: notes for readers on how the result was made."""
    artifacts: tuple[Artifact, ...] = ()
    """Files created by a program, with their stored paths."""
    status: ResultStatus = "done"
    """Final status of the run."""


class Result(ReportFacts):
    """Complete result of a run."""

    usage: Usage
    """Usage of the run."""
    status: ResultStatus
    """Final status of the run."""
    title: str
    """Title of the report."""
    short_answer: ResultClaim | None = None
    """Answer in a few words with the quotes that state it; null if there is none."""
    abstract: str
    """Abstract with numeric citation marks."""
    abstract_claims: tuple[ResultClaim, ...] = ()
    """Sentences of the abstract."""
    sections: tuple[ResultSection, ...] = ()
    """Sections."""
    reasoning: ResultReasoning | None = None
    """Line of reasoning from the evidence to an answer; null if there is none."""
    synthesis: Synthesis | None = None
    """Executive synthesis; null if there is none."""
    contradictions: tuple[ResultContradiction, ...] = ()
    """Contradictions between sources."""
    positions: tuple[ResultPosition, ...] = ()
    """Positions with evidence on both sides."""
    sources: tuple[SourceEntry, ...] = ()
    """References, by number."""
    suspicious_sources: tuple[str, ...] = ()
    """URIs of all sources with instructions to language models that are cited or that a model has read."""
    coverage: dict[str, float] = {}
    """Coverage of each topic."""
    code: str = ""
    """Program as one text, with file names if there are several; empty for a report."""
    files: tuple[SourceFile, ...] = ()
    """New or changed files of the program."""
    originals: tuple[OriginalFile, ...] = ()
    """The given files among those that are changed."""
    patch: str = ""
    """The changes as a patch that `git apply` takes; empty without a program or a change of a repository."""
    repository: RepositoryChange | None = None
    """Change of a repository; null for a program or a report."""
    specification: str = ""
    """Required behaviour of the program, as understood by the test writer."""
    tests: tuple[SourceFile, ...] = ()
    """Tests of the program."""
    verification: ProgramVerification | None = None
    """Test results of the program; null for a report."""
    attempts: tuple[Attempt, ...] = ()
    """All attempts in order."""
    web: WebReport | None = None
    """Use of the web; null for a run that did not read it."""
    changes: ReportChanges | None = None
    """Changes since the previous report; null if the question is not scheduled."""


class ComparisonRequest(Contract):
    """Two reports on a scheduled question, with the statements and sources that are compared."""

    last: Result
    now: Result
    at: str
    """Time when the new report was finished, ISO 8601 in UTC."""
