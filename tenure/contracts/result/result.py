"""The result document: what a run delivers (DESIGN §8). Its JSON schema is published in docs/."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.corpora import SkippedFile
from tenure.contracts.evidence.passages import ClaimStatus
from tenure.contracts.evidence.reasoning import Considered, ReasoningStrategy, StepKind
from tenure.contracts.evidence.web import WebAccount
from tenure.contracts.result.changes import Changes
from tenure.contracts.result.programs import Failure, Lesson, Maker, Proof, SourceFile, StoredArtifact
from tenure.contracts.run.budget import Resource
from tenure.contracts.run.run import Degraded, Handled, TaskMode, Usage

ResultStatus = Literal["done", "finished_early", "cancelled", "no_evidence", "failing_tests", "unsupported", "failed"]


Link = Literal["", "alive", "dead", "silent"]
"""What became of asking for a cited page at the end: nobody asked, it is there, it is gone, nobody answered."""


class SourceEntry(Contract):
    """A source in the list of references."""

    n: int = Field(ge=1)
    """Its number in the report."""
    id: str
    """Its id in the knowledge base."""
    uri: str
    """Where it is: a path or an address."""
    title: str
    """Its title."""
    author: str = ""
    """Who wrote it, where known."""
    published: str = ""
    """When it was published, where known."""
    accessed: str
    """When it was read, ISO 8601 in UTC."""
    link: Link = ""
    """Whether a page was still there when the report was finished: confirmed, gone, or its server did not answer; empty
    where nobody asked."""
    archived: str = ""
    """Where an archive has it as it was read; empty without an archive."""
    derived: bool = False
    """Whether a run had it made, so that no document says it: a calculation, a query, a program or a tool's answer."""


class ResultCitation(Contract):
    """A quote: `source` is a source's `n`, offsets count characters of its stored text."""

    source: int = Field(ge=1)
    """Number of the source in this document."""
    start: int = Field(ge=0)
    """First character."""
    end: int = Field(gt=0)
    """One past the last character."""
    page: int | None = Field(default=None, ge=1)
    """Page of the source that it begins on, from 1; null for a source without pages."""
    quote: str
    """The words between them."""
    before: str = ""
    """Some words of the source that come before it."""
    after: str = ""
    """Some that come after it."""


class ResultClaim(Contract):
    """A sentence of the report and what it rests on."""

    text: str
    """The sentence."""
    status: ClaimStatus
    """What is known of its support."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """How sure that is; null where nothing measured it."""
    citations: tuple[ResultCitation, ...] = ()
    """The quotes."""
    begins: Literal["paragraph", "bullet"] | None = None
    """What starts with it; null where it goes on in the paragraph before."""


class ResultSection(Contract):
    """A section of the report."""

    topic: str
    """Its heading."""
    markdown: str
    """Its text with numeric citation marks."""
    claims: tuple[ResultClaim, ...]
    """Its sentences."""


class CritiqueRecord(Contract):
    """A critique of the report and what became of it."""

    topic: str | None = None
    """The section concerned; null for the whole."""
    critique: str
    """What was wrong."""
    outcome: str
    """What was done about it."""


class Synthesis(Contract):
    """Situation, Complication, Resolution (document 004)."""

    situation: str
    """What is the case."""
    complication: str
    """What makes it hard."""
    resolution: str
    """What follows."""
    claims: tuple[ResultClaim, ...] = ()
    """The sentences of all three, in order."""
    sentences: tuple[int, int, int] = (0, 0, 0)
    """How many of them belong to each."""


class ResultStep(Contract):
    """A step of the reasoning."""

    kind: StepKind
    """What it is."""
    claim: ResultClaim
    """What it says."""
    follows: tuple[int, ...] = ()
    """Numbers, from 1, of the steps before it that it rests on."""
    link: str = ""
    """What connects it to the step before it, in a few words."""


class ResultReasoning(Contract):
    """The line of thought from the evidence to an answer (document 003, Reasoning Engine)."""

    strategy: ReasoningStrategy
    """How it was reasoned."""
    steps: tuple[ResultStep, ...] = ()
    """The steps, in order."""
    conclusion: ResultStep | None = None
    """What follows from them; null where nothing is concluded."""
    answer: str = ""
    """The conclusion in a few words, where there are such."""
    confidence: float = Field(ge=0, le=1)
    """How sure it is."""
    considered: tuple[Considered, ...] = ()
    """Thoughts that were weighed and not followed, or answers that were outvoted."""

    @property
    def claims(self) -> tuple[ResultClaim, ...]:
        """Its sentences, the conclusion last."""
        said = (*self.steps, *([self.conclusion] if self.conclusion else []))
        return tuple(step.claim for step in said)


class Evaluation(Contract):
    """Self-evaluation, each score from 0 to 1 (document 003 §2.3.4)."""

    consistency: float
    """Agreement with itself."""
    completeness: float
    """Share of the question that is answered."""
    factuality: float
    """Share of claims that are supported."""
    overall: float
    """All of them."""
    missing: tuple[str, ...] = ()
    """Parts of the question that nothing answers."""
    issues: tuple[str, ...] = ()
    """What is wrong with it."""
    suggestions: tuple[str, ...] = ()
    """What would mend it."""


class Contradiction(Contract):
    """Two sources that disagree."""

    a: ResultCitation
    """One side."""
    b: ResultCitation
    """The other."""
    severity: Literal["low", "medium", "high"]
    """How much it matters."""
    about: str = ""
    """What they disagree in."""


class ResultAttempt(Contract):
    """A program that was tried."""

    n: int = Field(ge=1)
    """Its number."""
    generation: int = Field(ge=1)
    """The generation it belongs to."""
    maker: Maker
    """What made it: the coder, or the search for a small edit."""
    approach: str
    """What it tries."""
    code: str
    """The program as one text; empty where it was too long to be kept."""
    passed: int
    """Tests passed."""
    total: int
    """Tests there were."""
    error: str | None
    """Why it was not accepted, in one line; null where it was."""
    failures: tuple[Failure, ...] = ()
    """Everything that was wrong with it."""
    entry: str = ""
    """The file that was run; empty where only its tests were, whose output then stands for it."""
    stdout: str
    """What it printed, shortened."""
    stderr: str = ""
    """What it complained of, shortened."""
    seconds: float
    """Time in the sandbox."""
    reflection: Lesson | None = None
    """What was learned from it; null where nothing had to be."""


class Result(Contract):
    """Everything a run delivers."""

    id: RunId
    """The run."""
    mode: TaskMode
    """Which path it took."""
    question: str
    """What was asked."""
    title: str
    """Title of the report."""
    abstract: str
    """Abstract with numeric citation marks."""
    abstract_claims: tuple[ResultClaim, ...] = ()
    """The abstract's sentences."""
    sections: tuple[ResultSection, ...] = ()
    """The sections."""
    reasoning: ResultReasoning | None = None
    """The line of thought from the evidence to an answer; null where none is set out."""
    synthesis: Synthesis | None = None
    """Executive synthesis; null where the run made none."""
    further_considerations: tuple[str, ...] = ()
    """Thoughts that go beyond the sources and cite nothing (document 000 §2.4)."""
    contradictions: tuple[Contradiction, ...] = ()
    """Where sources disagree."""
    sources: tuple[SourceEntry, ...] = ()
    """References, by number."""
    coverage: dict[str, float] = {}
    """Coverage per topic."""
    information_gain: tuple[float, ...] = ()
    """Information gain per cycle; empty for a run of one pass."""
    coverage_by_cycle: dict[str, tuple[float, ...]] = {}
    """Coverage of each topic before the first cycle of research and after every one."""
    critiques: tuple[CritiqueRecord, ...] = ()
    """Critiques of the report and what became of them."""
    decisions: tuple[str, ...] = ()
    """Why the run went on or ended, in order."""
    feedback: tuple[Handled, ...] = ()
    """What was asked along the way, and what was done with it."""
    evaluation: Evaluation | None = None
    """Self-evaluation; null where the run made none."""
    code: str = ""
    """The program as one text, files under their names where there are several; empty for a report."""
    files: tuple[SourceFile, ...] = ()
    """The program's files that are new or changed."""
    specification: str = ""
    """What the program has to do, as the writer of its tests understood it."""
    tests: tuple[SourceFile, ...] = ()
    """The tests that prove it."""
    proof: Proof | None = None
    """What speaks for the program; null for a report."""
    attempts: tuple[ResultAttempt, ...] = ()
    """Everything that was tried, in order."""
    artifacts: tuple[StoredArtifact, ...] = ()
    """Files that a program made, and where they are kept."""
    usage: Usage
    """What was used."""
    limits: dict[Resource, float] = {}
    """What might have been used, where it was limited: tokens, dollars, calls, searches, seconds."""
    degraded: tuple[Degraded, ...] = ()
    """Calls in which a twin stood in for the model."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files that were not read, and why."""
    web: WebAccount | None = None
    """What was read of the web; null for a run that did not read it."""
    changes: Changes | None = None
    """What is new over the last report; null for a question that is not asked again and again."""
    notes: tuple[str, ...] = ()
    """The run log: what a reader should know about how this came about."""
    status: ResultStatus
    """How the run ended."""
