"""The trace of a run: what its histories record, and the story that they tell."""

from typing import Any, Literal

from tenure.contracts.base import Contract
from tenure.contracts.evidence.react import ReactStep
from tenure.contracts.evidence.retrieval import Strategy
from tenure.contracts.evidence.web import WebAccount
from tenure.contracts.research.learning import Inheritance, KnownFact, Related
from tenure.contracts.research.report import Critique
from tenure.contracts.research.spiral import Effort, Finding, PlannedAction, Reflection
from tenure.contracts.result.programs import Attempt
from tenure.contracts.run.run import Complexity, Handled, SectionPhase, TaskMode

Ending = Literal["running", "completed", "failed", "cancelled", "terminated", "timed_out"]
"""How a workflow stands for the server."""


class Happening(Contract):
    """A thing that a history records: a call or a child with its outcome, a signal that came or went."""

    kind: Literal["call", "child", "heard", "told"]
    """An activity, a child workflow, a signal received, a signal sent."""
    name: str
    """Type of the activity or child, or name of the signal."""
    at: str
    """When it began, ISO 8601 in UTC."""
    given: Any = None
    """Its first argument, as JSON."""
    came: Any = None
    """Its result, as JSON; None while there is none."""
    over: bool = False
    """Whether it has ended."""
    failure: str = ""
    """Why it failed."""
    workflow: str = ""
    """Workflow id of a child."""
    run: str = ""
    """Id of a child's first execution."""


class History(Contract):
    """What happened in one workflow, whatever number of times it was continued as new."""

    workflow: str
    """Its id."""
    type: str
    """Its type."""
    began: str
    """When it was started, ISO 8601 in UTC."""
    ending: Ending = "running"
    """How it stands."""
    ended: str = ""
    """When it ended; empty while it has not."""
    given: Any = None
    """Its first argument, as JSON."""
    came: Any = None
    """Its result, as JSON."""
    failure: str = ""
    """Why it failed."""
    continued: str = ""
    """Id of the execution that goes on where the last one recorded here was continued as new."""
    happenings: tuple[Happening, ...] = ()
    """What happened, in the order in which it began."""


class TracedQuery(Contract):
    """A query and what became of what it found."""

    query: str
    """The query."""
    found: int = 0
    """Passages that no earlier query of the task has found."""
    judged: bool = False
    """Whether they were judged."""
    accepted: int = 0
    """Passages that were new and relevant."""
    irrelevant: int = 0
    """Passages rejected as irrelevant to every topic."""
    known: int = 0
    """Passages rejected since they say what the run has already."""
    elsewhere: int = 0
    """Passages that another query of the cycle has found, too, and that count there."""


class TracedTask(Contract):
    """A task that was sent out."""

    topic: str
    """Heading of the topic it serves."""
    strategy: Strategy
    """How it searched."""
    why: str = ""
    """Why so, where experience has chosen it."""
    expected: str = ""
    """What it should bring."""
    reading: bool = False
    """Whether it reads on in one source."""
    status: Literal["in_progress", "completed", "failed"] = "in_progress"
    """How far it is; a task that has found nothing has failed."""
    note: str = ""
    """Why it failed."""
    queries: tuple[TracedQuery, ...] = ()
    """Its own query, and those it made of what that one has found."""
    steps: tuple[ReactStep, ...] = ()
    """Its thoughts, actions and observations, where it went step by step."""
    answer: str = ""
    """What it has answered then, with numbers of the passages it has seen."""


class TracedPlan(Contract):
    """A plan and what was made of it."""

    at: str
    """When the planner was asked."""
    heard: tuple[str, ...] = ()
    """What people said that the planner was told of."""
    critique: str = ""
    """What the planner thought of the research so far."""
    thought: str = ""
    """How it came to its plan."""
    actions: tuple[PlannedAction, ...] = ()
    """What it proposed."""
    refused: tuple[str, ...] = ()
    """What was not carried out, and why; known once the planner was asked again."""
    left: tuple[str, ...] = ()
    """Queries for which no task was sent out; where `refused` is known it says why."""
    added: tuple[str, ...] = ()
    """Topics that came into the outline."""
    dropped: tuple[str, ...] = ()
    """Topics that left it."""
    tasks: tuple[TracedTask, ...] = ()
    """Tasks that were sent out."""
    failure: str = ""
    """Why there is no plan, where there is none."""


class TracedDecision(Contract):
    """A decision on whether the research goes on."""

    goes_on: bool
    """Whether it does."""
    reasoning: str
    """Why."""
    key_factors: tuple[str, ...] = ()
    """What was missing."""


class TracedCycle(Contract):
    """One cycle of research."""

    number: int
    """Its number, from 1."""
    plans: tuple[TracedPlan, ...]
    """Its plan, and the one that replaced it where it was made anew."""
    accepted: tuple[Finding, ...] = ()
    """Passages that were accepted."""
    coverage: dict[str, float] = {}
    """How much of every topic was covered after it."""
    gain: float | None = None
    """Its information gain; None where it is not known."""
    offered: tuple[str, ...] = ()
    """Topics that the sources offered beside the outline."""
    situation: str = ""
    """The synthesis after it: what is the case."""
    complication: str = ""
    """What makes it hard."""
    reflection: Reflection | None = None
    """The look back at the synthesis."""
    decision: TracedDecision | None = None
    """What the decider said; None where nobody had to be asked."""
    failures: tuple[str, ...] = ()
    """Calls that failed for good."""


class TracedThought(Contract):
    """A call that thought about what was found."""

    role: str
    """Who was asked."""
    said: str
    """What came of it, in words."""


class TracedReview(Contract):
    """A review of a section."""

    action: str
    """What the reviewer asked for."""
    critique: str
    """What was wrong or missing."""
    query: str = ""
    """What was searched for."""


class TracedSection(Contract):
    """A section in one generation of the report."""

    topic: str
    """Its heading."""
    generation: int
    """The generation of the report, from 1."""
    status: SectionPhase | Literal["in_progress"] = "in_progress"
    """How it came out."""
    critiques: tuple[str, ...] = ()
    """What it was to be improved by."""
    reviews: tuple[TracedReview, ...] = ()
    """Its reviews, in order."""
    claims: int = 0
    """Sentences of its text."""
    sources: int = 0
    """Sources they cite."""
    coverage: float = 0.0
    """Coverage of its topic."""
    note: str = ""
    """Why it has no text, or was not improved any further."""


class TracedReflection(Contract):
    """A look back at the whole report."""

    generation: int
    """The generation of the report."""
    critiques: tuple[Critique, ...] = ()
    """What was to be improved."""
    further_considerations: tuple[str, ...] = ()
    """Thoughts beyond the sources."""


class Word(Contract):
    """What a person said beside feedback: a pause, another outline, a finish."""

    at: str
    """When it arrived."""
    signal: str
    """Which of them."""


class TracedProgram(Contract):
    """A program that was to compute from tables what SQL could not bring."""

    wanted: str
    """What was to be computed."""
    shows: str = ""
    """What it prints, by its writer's words."""
    inputs: tuple[str, ...] = ()
    """The statements of its inputs."""
    code: str = ""
    """The program."""
    printed: str = ""
    """What it printed, shortened."""
    artifacts: tuple[str, ...] = ()
    """Names of the files it made."""
    problem: str = ""
    """Why it failed; empty where it did not, or has not been run yet."""


class TracedMemory(Contract):
    """What a run was reminded of, and what it left."""

    related: tuple[Related, ...] = ()
    """Earlier runs on related questions."""
    passages: tuple[Inheritance, ...] = ()
    """Passages they had accepted, and that it began with."""
    queries: tuple[str, ...] = ()
    """Queries of theirs that counted as made."""
    advice: tuple[str, ...] = ()
    """What they had learned about going on."""
    facts: tuple[KnownFact, ...] = ()
    """What earlier runs had found on it."""
    kept: tuple[str, ...] = ()
    """What it left to later runs."""


class Trace(Contract):
    """The story of a run, as far as its histories tell it."""

    id: str
    """The run."""
    question: str
    """What was asked."""
    started: str
    """When it began."""
    ended: str = ""
    """When it ended; empty while it has not."""
    status: str
    """The status of its result, or how the server says it stands."""
    failure: str = ""
    """Why it has no result, where it failed."""
    mode: TaskMode = "UNDEFINED"
    """Which path it took."""
    complexity: Complexity | None = None
    """What the router made of the question."""
    effort: Effort | None = None
    """What the research was allowed."""
    programs: tuple[TracedProgram, ...] = ()
    """Programs that were to compute from tables, in order."""
    outline: tuple[str, ...] = ()
    """The first outline."""
    memory: TracedMemory | None = None
    """What earlier runs had to do with it; None where nothing was remembered or kept."""
    at_hand: tuple[Finding, ...] = ()
    """What the search for the whole question had found, before the first cycle."""
    cycles: tuple[TracedCycle, ...] = ()
    """The cycles of research."""
    resolution: str = ""
    """The synthesis at its end: what follows."""
    thoughts: tuple[TracedThought, ...] = ()
    """How it was reasoned from what was found, call by call."""
    sections: tuple[TracedSection, ...] = ()
    """The sections, generation by generation."""
    reflections: tuple[TracedReflection, ...] = ()
    """The looks back at the report."""
    attempts: tuple[Attempt, ...] = ()
    """The programs that were tried."""
    web: WebAccount | None = None
    """What was read of the web, once the run has ended."""
    feedback: tuple[Handled, ...] = ()
    """What people said, when, and what was done with it."""
    words: tuple[Word, ...] = ()
    """What else people asked for."""
    decisions: tuple[str, ...] = ()
    """Why the run went on or ended, in order."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how it went."""
