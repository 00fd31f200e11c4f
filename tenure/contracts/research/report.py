"""The research path: outlines, sections, critiques, and the state a person can query."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.evidence.corpora import SkippedFile
from tenure.contracts.evidence.passages import Disagreement, Draft, PassageRef, SynthesisDraft
from tenure.contracts.evidence.react import SteppedTask
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.research.learning import Experience, Practised
from tenure.contracts.result.programs import Attempt, CodeDraft, StoredArtifact
from tenure.contracts.result.result import CritiqueRecord, Evaluation, ResultStatus
from tenure.contracts.run.budget import Resource
from tenure.contracts.run.run import (
    Complexity,
    Degraded,
    Feedback,
    Handled,
    Limits,
    Phase,
    Progress,
    QueryType,
    SectionPhase,
    Stance,
    TaskMode,
    TopicProgress,
    Usage,
)


class SubQuestion(Contract):
    """A question inside the question, and what was found on it; questions that need its answer see both."""

    question: str
    """The question as it was searched for: answers it needed are named in it."""
    evidence: tuple[PassageRef, ...] = ()
    """Passages found, best first."""


class Topic(Contract):
    """One topic of the outline."""

    heading: str
    """Heading of its section."""
    question: str
    """What the section has to answer; drives retrieval."""


class Critique(Contract):
    """Something to improve, found by the reflector or said by a person."""

    topic: str | None = None
    """Heading of the section concerned; None asks for a section of its own."""
    critique: str
    """What is wrong or missing."""
    query: str = ""
    """What to look for, where evidence is missing."""
    origin: Literal["reflector", "person"] = "reflector"
    """Who found it."""


class ResearchRequest(Contract):
    """Start of a research run: the routed question and the documents D retrieved for it."""

    run: RunId
    """Workflow id of the run; progress is reported there."""
    question: str
    """What was asked."""
    corpora: tuple[str, ...]
    """Corpora to read."""
    databases: tuple[str, ...] = ()
    """Databases that may be asked."""
    limits: Limits
    """Bounds of the run."""
    complexity: Complexity
    """What the router made of the question."""
    query_type: QueryType | None = None
    """The kind of answer that is wanted; None where an older worker did not say."""
    evidence: tuple[PassageRef, ...]
    """D: passages for the question as a whole, best first."""
    results: tuple[PassageRef, ...] = ()
    """What queries over tables brought; every section knows it, since no search finds it."""
    experience: Experience = Experience()
    """What earlier runs have left to it."""
    feedback: tuple[Feedback, ...] = ()
    """What people said before the research began."""
    stance: Stance = Stance()
    """What people asked of the run before the research began."""


class SectionRequest(Contract):
    """Start of one section, or of its refinement where a draft is given."""

    run: RunId
    """Workflow id of the run; progress is reported there."""
    question: str
    """The question of the whole report."""
    topic: Topic
    """The section's topic."""
    other_topics: tuple[str, ...] = ()
    """Headings of the other sections; what belongs there is not written here."""
    corpora: tuple[str, ...]
    """Corpora to read."""
    limits: Limits
    """Bounds of the run."""
    evidence: tuple[PassageRef, ...] = ()
    """Passages already known; for a refinement the ones the draft was written from."""
    gathered: tuple[PassageRef, ...] = ()
    """Passages that the research before it accepted for the topic."""
    hypothetical: str = ""
    """The imagined passage of the topic; empty where nobody has imagined one yet."""
    results: tuple[PassageRef, ...] = ()
    """What queries over tables brought; a new section starts from it."""
    reasoning: str = ""
    """The line of thought that was drawn from everything found; empty for none."""
    draft: Draft | None = None
    """The draft to refine; None for a new section."""
    critiques: tuple[Critique, ...] = ()
    """What to improve in it, or what people wished of it before it was written."""
    said: tuple[str, ...] = ()
    """Sentences of the other sections, not to be repeated."""
    stance: Stance = Stance()
    """What people asked of the run before the section began."""


class SectionResult(Contract):
    """A written section."""

    topic: Topic
    """The section's topic."""
    phase: SectionPhase
    """`done`, `no_evidence` or `failed`."""
    draft: Draft = Draft()
    """Its text."""
    evidence: tuple[PassageRef, ...] = ()
    """Passages it was written from."""
    coverage: float = 0.0
    """Coverage c_j of the topic (DESIGN §5)."""
    reviews: tuple[str, ...] = ()
    """The reviewer's critiques, in order."""
    wishes: tuple[str, ...] = ()
    """What people said that this section was written with."""
    usage: Usage = Usage()
    """What it used."""
    degraded: tuple[Degraded, ...] = ()
    """Calls answered by a twin."""
    note: str = ""
    """Why there is no text, where there is none."""
    removed: tuple[str, ...] = ()
    """Claims that verification took out, and why."""


class SectionDraft(Contract):
    """A section as it goes into the report."""

    topic: str
    """Its heading."""
    draft: Draft
    """Its text."""
    coverage: float = 0.0
    """Coverage of the topic, 0 to 1."""


class Assessment(Contract):
    """What a run thinks of its own report."""

    evaluation: Evaluation
    """The scores, and what is wrong."""
    critiques: tuple[Critique, ...] = ()
    """What would mend it, by section."""


class ReportDraft(Contract):
    """The report before its sources are numbered."""

    id: RunId
    """The run."""
    mode: TaskMode
    """Which path it took."""
    question: str
    """What was asked."""
    title: str = ""
    """Its title."""
    abstract: Draft = Draft()
    """Its abstract."""
    sections: tuple[SectionDraft, ...] = ()
    """Its sections."""
    reasoning: Reasoning | None = None
    """The line of thought from the evidence to an answer; None where none is set out."""
    synthesis: SynthesisDraft = SynthesisDraft()
    """Situation, Complication, Resolution."""
    information_gain: tuple[float, ...] = ()
    """Information gain of every cycle of research."""
    practised: tuple[Practised, ...] = ()
    """How the strategies of its searches did."""
    queries: tuple[str, ...] = ()
    """Queries that found something, the one that found most first."""
    coverage_by_cycle: dict[str, tuple[float, ...]] = {}
    """Coverage of each topic before the first cycle and after every one."""
    further_considerations: tuple[str, ...] = ()
    """Thoughts beyond the sources."""
    contradictions: tuple[Disagreement, ...] = ()
    """Where its sources disagree."""
    evaluation: Evaluation | None = None
    """What the run thinks of it; None where it did not look."""
    critiques: tuple[CritiqueRecord, ...] = ()
    """Critiques and what became of them."""
    decisions: tuple[str, ...] = ()
    """Why it went on or ended."""
    feedback: tuple[Handled, ...] = ()
    """What people said and what was done."""
    usage: Usage = Usage()
    """What was used."""
    limits: dict[Resource, float] = {}
    """What might have been used, where it was limited."""
    degraded: tuple[Degraded, ...] = ()
    """Calls answered by a twin."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files not read."""
    notes: tuple[str, ...] = ()
    """The run log."""
    code: CodeDraft | None = None
    """The program, where one was asked for."""
    artifacts: tuple[StoredArtifact, ...] = ()
    """Files that a program made for the report."""
    numbered: tuple[SourceId, ...] = ()
    """Sources that have their numbers from an earlier document, in order."""
    web_corpus: str = ""
    """The corpus of the pages it has read; empty for a run that did not read the web."""
    status: ResultStatus = "done"
    """How the run ended."""


class ProgressUpdate(Contract):
    """What a child workflow tells the run; absent fields leave what was known."""

    reporter: str
    """Workflow id of the child; its usage replaces what it reported before."""
    phase: Phase | None = None
    """What the run is doing."""
    cycle: int | None = None
    """The cycle of research."""
    revision: int | None = None
    """R_n."""
    topics: tuple[TopicProgress, ...] = ()
    """Topics whose state changed."""
    outline: bool = False
    """Whether these are all topics there are, since the outline may have changed."""
    attempt: Attempt | None = None
    """A program that was tried, or the same again with what was learned from it."""
    task: SteppedTask | None = None
    """A task that went step by step, at its end."""
    artifacts: tuple[StoredArtifact, ...] = ()
    """Files that programs of a task have made, at its end."""
    usage: Usage | None = None
    """All the child has used so far, its children not included."""
    last: str = ""
    """What happened, in words."""
    ended: bool = False
    """Whether the child makes no more calls, so that what it was granted and did not use is free again."""


class RunState(Contract):
    """Answer of the `state` query: everything a person may want to see, the report included once it is written."""

    progress: Progress
    """How far the run is."""
    corpora: tuple[str, ...] = ()
    """Corpora it reads."""
    complexity: Complexity | None = None
    """What the router made of the question."""
    query_type: QueryType | None = None
    """The kind of answer that is wanted."""
    evidence: int = Field(default=0, ge=0)
    """Passages found for the question as a whole."""
    report: ReportDraft | None = None
    """The report, once its text is written."""
    tasks: tuple[SteppedTask, ...] = ()
    """Tasks that went step by step, the last few of them."""
    attempts: tuple[Attempt, ...] = ()
    """The programs that were tried."""
    paused: bool = False
    """Whether a person holds it."""
    finishing: bool = False
    """Whether a person asked for what there is."""
    cycles: int = Field(default=0, ge=0)
    """Cycles of research that are over; a fork can begin after each that this run has done itself."""
