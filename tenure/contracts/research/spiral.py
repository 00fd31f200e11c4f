"""The research spiral: plans, findings and decisions, and the state that is carried from cycle to cycle (001 §3.2)."""

from typing import Literal

from pydantic import ConfigDict, Field

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import PassageRef, SynthesisDraft
from tenure.contracts.evidence.react import ReactStep
from tenure.contracts.evidence.retrieval import Ending, Retrieved, Strategy
from tenure.contracts.research.learning import Experience, Practised
from tenure.contracts.research.report import Topic
from tenure.contracts.run.budget import Amounts
from tenure.contracts.run.role_calls import Turn
from tenure.contracts.run.run import Degraded, Feedback, Limits, Stance, Usage

Action = Literal["SEARCH", "READ", "ADD_TO_OUTLINE", "DROP_TOPIC", "ASK_HUMAN", "FINISH"]
StepStatus = Literal["pending", "in_progress", "completed", "failed", "skipped"]
Trend = Literal["Increasing", "Steady", "Stalling"]
Quality = Literal["excellent", "good", "moderate", "shallow"]


class Effort(Contract):
    """How much work a question is worth; the router's complexity sets it, a person or a flag can override it."""

    cycles: int = Field(ge=1, le=100)
    """Cycles of the spiral at the most."""
    subagents: int = Field(ge=1, le=8)
    """Tasks of one cycle."""
    hops: int = Field(ge=1, le=5)
    """Searches that one task may make, each with what the one before has found."""
    sections: int = Field(ge=1, le=12)
    """Topics of the first outline at the most."""


class PlannedAction(Contract):
    """One action."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    id: str
    """A short name of your own for it, such as s1."""
    action: Action
    """What to do."""
    query: str
    """SEARCH, READ: what to look for. ADD_TO_OUTLINE: what the new section has to answer. ASK_HUMAN: the question.
    Else empty."""
    target_outline_topic: str
    """Exact heading of the topic it serves; for ADD_TO_OUTLINE the new heading. Empty where there is none."""
    passage: int
    """READ: number of the finding whose source is to be read further. Else 0."""
    depends_on: tuple[str, ...]
    """Ids of the SEARCH and READ actions of this plan that have to bring something first; mostly none."""
    expected_output: str
    """What it should bring; for ASK_HUMAN what you assume unless somebody answers."""
    strategy: Strategy | None = None
    """SEARCH: how to search, where the query does not say it by its kind: iterative for an answer in unknown words,
    multi_hop for a chain of facts, hierarchical for a broad subject, contrastive for a position that is contested,
    memory for what earlier reports may have found, react for what has to be computed, asked of tables or found out
    step by step, direct for one search. Mostly null."""


class Step(Contract):
    """A step of a plan: a question to the sources."""

    id: str
    """Its name within the plan."""
    query: str
    """What to look for."""
    topic: str
    """Heading of the topic it serves."""
    reads: PassageRef | None = None
    """A passage whose source is to be read further; None for a search in all of them."""
    depends_on: tuple[str, ...] = ()
    """Steps that have to be completed first."""
    expected: str = ""
    """What it should bring."""
    strategy: Strategy | None = None
    """How to search for it, where the plan says so."""
    status: StepStatus = "pending"
    """How far it is."""
    note: str = ""
    """Why it failed or was skipped."""


class Executed(Contract):
    """A query that has been asked, and what it brought."""

    query: str
    """The query."""
    topic: str
    """Heading of the topic it served."""
    cycle: int
    """When it was asked."""
    found: int = 0
    """Passages it found."""
    accepted: int = 0
    """Those among them that were new and relevant."""


class Aim(Contract):
    """A topic of the outline, with what an answer to it may look like and the best that was found."""

    topic: Topic
    """The topic."""
    hypothetical: str = ""
    """The imagined passage whose embedding, averaged with the question's, is h_j (DESIGN §5)."""
    passages: tuple[PassageRef, ...] = ()
    """Accepted passages that count most for its coverage."""
    coverage: float = 0.0
    """c_j, from 0 to 1."""
    course: tuple[float, ...] = ()
    """c_j before the first cycle and after each that is over; 0 for those before the topic was there."""


class Candidate(Retrieved):
    """A passage that a task has found, with what led to it."""

    topic: str
    """Heading of the topic it was found for."""


class Finding(Contract):
    """An accepted passage."""

    topic: str
    """Heading of the topic it counts for."""
    query: str
    """The query that found it."""
    passage: PassageRef
    """The passage, with its relevance to the topic."""
    novelty: float
    """1 − the highest similarity to anything the run accepted before it."""


class Rejection(Contract):
    """How many passages of one query were not accepted, and why."""

    query: str
    """The query."""
    irrelevant: int = 0
    """Below the least relevance to every topic."""
    known: int = 0
    """Too much like what the run had already."""


class AnalysisRequest(Contract):
    """What the tasks of a cycle have found, to be judged."""

    run: RunId
    """The run; what it accepted in earlier cycles is known by it."""
    cycle: int
    """The cycle, from 1."""
    question: str
    """The question of the whole report."""
    corpora: tuple[str, ...]
    """Corpora the passages come from."""
    aims: tuple[Aim, ...]
    """The outline."""
    candidates: tuple[Candidate, ...]
    """What was found."""
    min_relevance: float
    """τ_r."""
    min_novelty: float
    """τ_n."""


class Analysis(Contract):
    """What came of judging them."""

    accepted: tuple[Finding, ...] = ()
    """New and relevant passages, most relevant first."""
    rejected: tuple[Rejection, ...] = ()
    """The others, by query."""
    latent: tuple[tuple[PassageRef, ...], ...] = ()
    """Groups of passages that are about the question but about no topic of the outline."""


class LatentTopic(Contract):
    """A topic that the sources offer and the outline does not have."""

    heading: str
    """Its name."""
    question: str
    """What a section on it would answer."""
    passages: int
    """Passages seen on it."""
    cycle: int
    """When it was first offered."""


class SubagentRequest(Contract):
    """One task of a cycle."""

    run: RunId
    """Workflow id of the run; progress is reported there."""
    question: str
    """The question of the whole report."""
    step: Step
    """The task."""
    strategy: Strategy
    """How to search."""
    why: str = ""
    """Why so, where experience has chosen it."""
    hypothetical: str = ""
    """The imagined passage of the task's topic."""
    hops: int = 1
    """Searches at the most."""
    corpora: tuple[str, ...]
    """Corpora to read."""
    databases: tuple[str, ...] = ()
    """Databases that may be asked."""
    limits: Limits
    """Bounds of the run."""
    stance: Stance = Stance()
    """What people asked of the run before the task began."""


class SubagentResult(Contract):
    """What a task has found."""

    step: str
    """Its step."""
    candidates: tuple[Candidate, ...] = ()
    """What it found, each passage once."""
    queries: tuple[str, ...] = ()
    """Queries it made beside its own."""
    steps: tuple[ReactStep, ...] = ()
    """Its thoughts, actions and observations, where it went step by step."""
    answer: str = ""
    """What it has answered then, with numbers of passages; no text of a report."""
    ending: Ending = "complete"
    """Why it made no further one."""
    usage: Usage = Usage()
    """What it used."""
    degraded: tuple[Degraded, ...] = ()
    """Calls answered by a twin."""


class Reflection(Contract):
    """What a look back at the synthesis found."""

    overall_quality: Quality
    """How good it is."""
    depth_assessment: str
    """How deep it goes."""
    missing_core_insights: tuple[str, ...] = ()
    """What a reader would miss."""
    logic_issues: tuple[str, ...] = ()
    """What does not follow."""
    improvement_suggestions: tuple[str, ...] = ()
    """What to do about it."""


class SpiralState(Contract):
    """The research state: all that one cycle leaves to the next, whatever the amount of evidence."""

    cycle: int = 0
    """Cycles begun."""
    aims: tuple[Aim, ...] = ()
    """The outline with its coverage."""
    executed: tuple[Executed, ...] = ()
    """Queries that were asked."""
    gains: tuple[float, ...] = ()
    """g_t of every cycle."""
    latent: tuple[LatentTopic, ...] = ()
    """Topics that the sources offer beside the outline."""
    dropped: tuple[str, ...] = ()
    """Topics that were given up."""
    critique: str = ""
    """The last critique."""
    reasoning: str = ""
    """Why the last decision was to go on."""
    key_factors: tuple[str, ...] = ()
    """What was missing then."""
    refused: tuple[str, ...] = ()
    """What could not be done of the last plan, and why."""
    fresh: tuple[PassageRef, ...] = ()
    """Findings that the planner has not been shown."""
    unprocessed: tuple[PassageRef, ...] = ()
    """Findings that the synthesizer has not been given."""
    numbered: tuple[PassageRef, ...] = ()
    """Passages the synthesizer knows, by number, in its present conversation."""
    synthesis: SynthesisDraft = SynthesisDraft()
    """What follows from the findings so far."""
    reflection: Reflection | None = None
    """What the last look back at it found."""
    turns: dict[str, Turn] = {}
    """Where the planner's and the synthesizer's conversations are."""
    planned: int = 0
    """How many wishes of people the planner has heard."""
    synthesized: int = 0
    """How many the synthesizer has heard."""
    taken: dict[str, tuple[str, ...]] = {}
    """What was asked of the sources because of a wish, by its text."""
    asked: tuple[str, ...] = ()
    """Questions to people, with what is assumed unless they answer."""
    outlined: int = 0
    """Number of the outline that a person has set and that holds; 0 where the planner may change it."""
    decisions: tuple[str, ...] = ()
    """Why it went on or ended, in order."""
    practised: tuple[Practised, ...] = ()
    """How the strategies of its tasks did."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how it went."""
    usage: Usage = Usage()
    """What it used before its history was begun anew."""
    degraded: tuple[Degraded, ...] = ()
    """Calls answered by a twin."""
    left: Amounts = Amounts()
    """What it was granted of the run's budget and did not use before its history was begun anew."""
    draws: int = 0
    """Draws it made until then."""


class SpiralRequest(Contract):
    """Start of the spiral, or its continuation in a new history."""

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
    effort: Effort
    """How much work it is worth."""
    outline: tuple[Topic, ...]
    """The first outline."""
    evidence: tuple[PassageRef, ...]
    """Passages found for the question as a whole, best first."""
    experience: Experience = Experience()
    """What earlier runs have left to it."""
    feedback: tuple[Feedback, ...] = ()
    """What people said so far."""
    stance: Stance = Stance()
    """What people asked of the run so far."""
    outlined: int = 0
    """Number of the outline that a person has set and that this one is; 0 for none."""
    state: SpiralState | None = None
    """What earlier cycles left; None at the start."""


class SpiralResult(Contract):
    """What the spiral has gathered."""

    aims: tuple[Aim, ...]
    """The outline with what was found for it."""
    synthesis: SynthesisDraft = SynthesisDraft()
    """Situation, Complication, Resolution."""
    gains: tuple[float, ...] = ()
    """Information gain of every cycle."""
    practised: tuple[Practised, ...] = ()
    """How the strategies of its tasks did."""
    queries: tuple[str, ...] = ()
    """Queries that found something, the one that found most first."""
    decisions: tuple[str, ...] = ()
    """Why it went on or ended, in order."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how it went."""
    taken: dict[str, tuple[str, ...]] = {}
    """What was asked of the sources because of a wish, by its text."""
    outlined: int = 0
    """Number of the last outline of a person that it has followed; 0 for none."""
    failure: str = ""
    """Why a step failed for good, where that ended it."""
    degraded: tuple[Degraded, ...] = ()
    """Calls answered by a twin."""
