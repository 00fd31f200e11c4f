"""Trace of a run: recorded histories of its workflows and the story reconstructed from them."""

from typing import Any, Literal

from tenure.contracts.base import Contract
from tenure.contracts.choices import Complexity, SearchMode
from tenure.contracts.evidence.react import ReactStep
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.evidence.web import WebReport
from tenure.contracts.research.learning import InheritedPassage, KnownFact, RelatedRun
from tenure.contracts.research.report import Critique
from tenure.contracts.research.spiral import Finding, PlannedAction, ResearchEffort
from tenure.contracts.result.programs import Attempt
from tenure.contracts.result.result import Evaluation
from tenure.contracts.run.run import FeedbackRecord, PlanStepKind, StepProgress, TaskMode

WorkflowStatus = Literal["running", "completed", "failed", "cancelled", "terminated", "timed_out"]
"""Status of a workflow on the Temporal server."""


class RecordedEvent(Contract):
    """A recorded activity or child workflow with its outcome, or a signal."""

    kind: Literal["call", "child", "signal_received", "signal_sent"]
    """An activity, a child workflow, a received signal or a sent signal."""
    name: str
    """Type of the activity or child, or name of the signal."""
    at: str
    """Start time, ISO 8601 in UTC."""
    input: Any = None
    """First argument as JSON."""
    result: Any = None
    """Result as JSON; None if there is none yet."""
    ended: bool = False
    """Whether it has ended."""
    ended_at: str = ""
    """End time of an activity or child; empty while it runs."""
    failure: str = ""
    """Failure message."""
    workflow: str = ""
    """Workflow id of a child."""
    run: str = ""
    """Run id of a child's first execution."""


class RecordedHistory(Contract):
    """History of a workflow over all of its continue-as-new executions."""

    workflow: str
    """Workflow id."""
    type: str
    """Workflow type."""
    started_at: str
    """Start time, ISO 8601 in UTC."""
    status: WorkflowStatus = "running"
    """Status on the server."""
    ended_at: str = ""
    """End time; empty while it runs."""
    input: Any = None
    """First argument as JSON."""
    result: Any = None
    """Result as JSON."""
    failure: str = ""
    """Failure message."""
    continued_as: str = ""
    """Run id of the next execution if the last recorded one was continued as new."""
    recorded_events: tuple[RecordedEvent, ...] = ()
    """Events in order of their start."""


class TracedQuery(Contract):
    """A query and the fate of its results."""

    query: str
    """Query text."""
    found: int = 0
    """Passages that no earlier query of the task found."""
    judged: bool = False
    """Whether they were judged."""
    accepted: int = 0
    """New and relevant passages."""
    irrelevant: int = 0
    """Passages irrelevant to every topic."""
    known: int = 0
    """Passages rejected as duplicates of known content."""
    elsewhere: int = 0
    """Passages also found by another query of the cycle, and counted there."""


class TracedTask(Contract):
    """A task of a research cycle."""

    topic: str
    """Heading of the topic it served."""
    kind: PlanStepKind = "search"
    """Type of the step."""
    planned_query: str = ""
    """Query of the plan; empty if names of earlier results were not inserted into it."""
    strategy: RetrievalStrategy
    """Retrieval strategy."""
    strategy_reason: str = ""
    """Reason for the strategy, if experience chose it."""
    search_mode: SearchMode | None = None
    """Search mode, if a user or the plan chose it."""
    expected_output: str = ""
    """Expected result."""
    is_reading: bool = False
    """Whether it reads further in one source."""
    status: Literal["in_progress", "completed", "failed", "skipped"] = "in_progress"
    """State of the task; a task without results has failed, and an unneeded task was skipped."""
    note: str = ""
    """Reason for the failure or for skipping it."""
    queries: tuple[TracedQuery, ...] = ()
    """Its own query and its follow-up queries."""
    steps: tuple[ReactStep, ...] = ()
    """Thoughts, actions and observations of the `react` strategy."""
    answer: str = ""
    """Answer of the `react` strategy, with passage numbers."""
    positions: tuple[str, ...] = ()
    """Positions that were searched from both sides, with the number of passages for and against."""


class TracedPlan(Contract):
    """A plan and its execution."""

    at: str
    """Time of the planner call."""
    feedback: tuple[str, ...] = ()
    """Feedback given to the planner."""
    critique: str = ""
    """The planner's critique of the research so far."""
    actions: tuple[PlannedAction, ...] = ()
    """Proposed actions."""
    refused: tuple[str, ...] = ()
    """Refused actions with the reasons; known after the next planner call."""
    unassigned: tuple[str, ...] = ()
    """Queries for which no task was started; `refused` says why, if known."""
    added: tuple[str, ...] = ()
    """Topics added to the outline."""
    dropped: tuple[str, ...] = ()
    """Topics dropped from the outline."""
    steps: tuple[StepProgress, ...] = ()
    """Steps with their last reported state."""
    tasks: tuple[TracedTask, ...] = ()
    """Started tasks."""
    failure: str = ""
    """Reason for a missing plan."""


class TracedDecision(Contract):
    """Judgement of the next plan on the findings of a cycle."""

    continues: bool
    """Whether the research continues."""
    reasoning: str
    """Reason of the decision."""
    situation: str = ""
    """Established facts."""
    complication: str = ""
    """Conflicts, exceptions and limits."""
    missing: tuple[str, ...] = ()
    """Parts without a full answer, each with what is missing."""


class TracedCycle(Contract):
    """One research cycle."""

    number: int
    """Number, from 1."""
    plans: tuple[TracedPlan, ...]
    """Its plan, and the new plan if it was replanned."""
    accepted: tuple[Finding, ...] = ()
    """Accepted passages."""
    coverage: dict[str, float] = {}
    """Coverage of each topic after the cycle."""
    gain: float | None = None
    """Information gain; None if unknown."""
    latent_topics: tuple[str, ...] = ()
    """Topics of the sources that are missing in the outline."""
    decision: TracedDecision | None = None
    """Decision after the cycle; None if no plan followed."""
    failures: tuple[str, ...] = ()
    """Calls that failed permanently."""


class TracedThought(Contract):
    """A reasoning call."""

    role: str
    """Name of the role."""
    summary: str
    """Its result in words."""


class TracedReview(Contract):
    """A review of a section."""

    action: str
    """Action requested by the reviewer."""
    critique: str
    """Problem or missing content."""


class TracedSection(Contract):
    """A section in one revision of the report."""

    topic: str
    """Heading."""
    generation: int
    """Number of the revision, from 1."""
    critiques: tuple[str, ...] = ()
    """Requested improvements."""
    reviews: tuple[TracedReview, ...] = ()
    """Reviews in order."""
    claims: int = 0
    """Number of sentences."""
    sources: int = 0
    """Number of cited sources."""


class TracedReflection(Contract):
    """A reflection on the whole report."""

    generation: int
    """Number of the report's revision."""
    critiques: tuple[Critique, ...] = ()
    """Requested improvements."""
    further_considerations: tuple[str, ...] = ()
    """Considerations beyond the sources."""
    evaluation: Evaluation | None = None
    """Verdict of the model on the edited report; None without a model."""
    contradictions: tuple[str, ...] = ()
    """Contradictory statements of sources, both sides of each."""


class ControlRecord(Contract):
    """A command of a person other than feedback: pause, outline, finish, …."""

    at: str
    """Time of arrival."""
    signal: str
    """Name of the command."""


class TracedProgram(Contract):
    """A program that computes results from tables."""

    wanted: str
    """Requested computation."""
    shows: str = ""
    """Meaning of its output, by its author."""
    inputs: tuple[str, ...] = ()
    """SELECT statements of its inputs."""
    code: str = ""
    """Source code."""
    output: str = ""
    """Standard output, shortened."""
    artifacts: tuple[str, ...] = ()
    """Names of the files it created."""
    problem: str = ""
    """Reason for the failure; empty if it did not fail, or has not run yet."""


class TracedMemory(Contract):
    """Memories that the run recalled and stored."""

    related: tuple[RelatedRun, ...] = ()
    """Earlier runs on related questions."""
    passages: tuple[InheritedPassage, ...] = ()
    """Accepted passages of theirs that the run started with."""
    queries: tuple[str, ...] = ()
    """Their queries that counted as executed."""
    advice: tuple[str, ...] = ()
    """Procedures learned from them."""
    facts: tuple[KnownFact, ...] = ()
    """Facts that they found."""
    personal: tuple[str, ...] = ()
    """Statements of a person that count as evidence."""
    preferences: tuple[str, ...] = ()
    """Preferences of the owner."""
    kept: tuple[str, ...] = ()
    """Memories that this run stored."""


CallKind = Literal["model", "search", "web", "program", "other"]
"""Subject of a call: a role, a search of the knowledge base, the web, a program in the sandbox, or anything else."""


class TracedCall(Contract):
    """Activity of a run with its time."""

    name: str
    """Name of the role or of the activity."""
    kind: CallKind
    """Subject of the call."""
    part: str
    """Part of the run: the run itself, its research, a task, a section or the program."""
    at: str
    """Time at which it was scheduled."""
    ended_at: str = ""
    """End time; empty while it runs."""
    model_calls: int = 0
    """Number of billed model answers."""
    tokens: int = 0
    """Prompt and completion tokens."""
    cost_usd: float | None = None
    """Cost in US dollars; None if the model has no known price, or none was asked."""
    failure: str = ""
    """Reason of a permanent failure, or of the fallback's answer."""


class Trace(Contract):
    """Story of a run, reconstructed from its histories."""

    id: str
    """Id of the run."""
    question: str
    """Question of the run."""
    started_at: str
    """Start time."""
    ended_at: str = ""
    """End time; empty while it runs."""
    status: str
    """Status of its result, or of its workflow on the server."""
    failure: str = ""
    """Reason for a missing result."""
    mode: TaskMode = "UNDEFINED"
    """Path taken."""
    complexity: Complexity | None = None
    """Complexity determined by the router."""
    effort: ResearchEffort | None = None
    """Amount of work allowed for the research."""
    programs: tuple[TracedProgram, ...] = ()
    """Programs over tables, in order."""
    outline: tuple[str, ...] = ()
    """First outline."""
    memory: TracedMemory | None = None
    """Memories recalled and stored; None if there were none."""
    initial_findings: tuple[Finding, ...] = ()
    """Passages found for the whole question before the first cycle."""
    cycles: tuple[TracedCycle, ...] = ()
    """Research cycles."""
    thoughts: tuple[TracedThought, ...] = ()
    """Reasoning calls."""
    sections: tuple[TracedSection, ...] = ()
    """Sections, by revision."""
    reflections: tuple[TracedReflection, ...] = ()
    """Reflections on the report."""
    attempts: tuple[Attempt, ...] = ()
    """Programs tried."""
    web: WebReport | None = None
    """Use of the web, once the run has ended."""
    feedback: tuple[FeedbackRecord, ...] = ()
    """Feedback and its outcomes."""
    commands: tuple[ControlRecord, ...] = ()
    """Other commands of people."""
    decisions: tuple[str, ...] = ()
    """Reasons for continuing or ending the run, in order."""
    notes: tuple[str, ...] = ()
    """Run log."""
    calls: tuple[TracedCall, ...] = ()
    """All calls of the run and its parts, by the time of their start."""
