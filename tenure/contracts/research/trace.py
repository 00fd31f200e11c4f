"""Trace of a run: the records that its workflows write where something happens, and the trace that they add up to."""

from typing import Annotated, Literal

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.choices import Complexity, SearchMode
from tenure.contracts.evidence.react import ReactStep
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.evidence.web import WebReport
from tenure.contracts.research.cycle import Finding, PlannedAction, Rejection, ResearchEffort
from tenure.contracts.research.learning import Experience
from tenure.contracts.result.programs import Attempt
from tenure.contracts.result.result import Evaluation, Result
from tenure.contracts.run.run import FeedbackRecord, PlanStepKind, StepProgress, TaskMode

WorkflowStatus = Literal["running", "completed", "failed", "cancelled", "terminated", "timed_out"]
"""Status of a workflow on the Temporal server."""


class TracedQuery(Contract):
    """A query and the fate of its results."""

    query: str
    found: int = 0
    """Passages that no earlier query of the task found."""
    judged: bool = False
    accepted: int = 0
    """New and relevant passages."""
    irrelevant: int = 0
    """Passages irrelevant to every topic."""
    known: int = 0
    """Passages rejected as duplicates of known content."""
    elsewhere: int = 0
    """Passages also found by another query of the cycle, and counted there."""


class TracedTask(Contract):
    """A task of a research cycle that has ended, or a tool that the question itself called for."""

    record: Literal["task"] = "task"
    cycle: int
    """Number of the cycle, from 1; 0 for a tool of the question, which the query `state` shows and no trace."""
    plan: int
    """Number of the plan within the cycle, from 1; 0 for a tool of the question."""
    step: str
    topic: str
    """Heading of the topic it served."""
    kind: PlanStepKind = "search"
    planned_query: str = ""
    """Query of the plan; empty if names of earlier results were not inserted into it."""
    strategy: RetrievalStrategy
    strategy_reason: str = ""
    """Reason for the strategy, if experience chose it."""
    search_mode: SearchMode | None = None
    """Search mode, if a user or the plan chose it."""
    expected_output: str = ""
    is_reading: bool = False
    """Whether it reads further in one source."""
    status: Literal["completed", "failed", "skipped"] = "completed"
    """Outcome of the task; a task without results has failed, and an unneeded task was skipped."""
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
    """A plan and its execution; written when it is made, and again when its steps have ended."""

    record: Literal["plan"] = "plan"
    number: int
    """Number within the cycle, from 1."""
    cycle: int
    at: str
    """Time at which it was made."""
    feedback: tuple[str, ...] = ()
    """Feedback given to the planner."""
    critique: str = ""
    """The planner's critique of the research so far."""
    actions: tuple[PlannedAction, ...] = ()
    refused: tuple[str, ...] = ()
    """Refused actions with the reasons."""
    added: tuple[str, ...] = ()
    """Topics added to the outline."""
    dropped: tuple[str, ...] = ()
    """Topics dropped from the outline."""
    steps: tuple[StepProgress, ...] = ()
    """Steps with their last state."""
    tasks: tuple[TracedTask, ...] = ()
    """Tasks that have ended."""


class TracedDecision(Contract):
    """Judgement of the next plan on the findings of a cycle."""

    record: Literal["decision"] = "decision"
    cycle: int
    continues: bool
    reasoning: str
    situation: str = ""
    """Established facts."""
    complication: str = ""
    """Conflicts, exceptions and limits."""
    missing: tuple[str, ...] = ()
    """Parts without a full answer, each with what is missing."""


class TracedCycle(Contract):
    """One research cycle; written when its findings were analyzed."""

    record: Literal["cycle"] = "cycle"
    number: int
    """Number, from 1; 0 for the passages found before the first plan."""
    plans: tuple[TracedPlan, ...] = ()
    """Its plan, and the new plan if it was replanned."""
    accepted: tuple[Finding, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    """Numbers of rejected passages, by query."""
    coverage: dict[str, float] = {}
    """Coverage of each topic after the cycle."""
    gain: float | None = None
    """Information gain; None if unknown."""
    latent_topics: tuple[str, ...] = ()
    """Topics of the sources that are missing in the outline."""
    decision: TracedDecision | None = None
    """Decision after the cycle; None if no plan followed."""


class TracedThought(Contract):
    """A reasoning call."""

    record: Literal["thought"] = "thought"
    summary: str


class TracedReview(Contract):
    """A review of a section."""

    action: str
    critique: str


class TracedSection(Contract):
    """A section in one revision of the report."""

    record: Literal["section"] = "section"
    topic: str
    generation: int
    """Number of the revision, from 1."""
    critiques: tuple[str, ...] = ()
    """Requested improvements."""
    reviews: tuple[TracedReview, ...] = ()
    claims: int = 0
    """Number of sentences."""
    sources: int = 0


class TracedReflection(Contract):
    """A reflection on the whole report."""

    record: Literal["reflection"] = "reflection"
    generation: int
    """Number of the report's revision."""
    critiques: tuple[str, ...] = ()
    """Requested improvements."""
    further_considerations: tuple[str, ...] = ()
    evaluation: Evaluation | None = None
    """Verdict of the model on the edited report; None without a model."""
    contradictions: tuple[str, ...] = ()
    """Contradictory statements of sources, both sides of each."""


class ControlRecord(Contract):
    """A command of a person other than feedback: pause, outline, finish, …."""

    record: Literal["command"] = "command"
    at: str
    """Time of its application."""
    signal: str


class TracedProgram(Contract):
    """A program that computes results from tables."""

    record: Literal["program"] = "program"
    wanted: str
    """Requested computation."""
    shows: str = ""
    """Meaning of its output, by its author."""
    inputs: tuple[str, ...] = ()
    """SELECT statements of its inputs."""
    code: str = ""
    output: str = ""
    """Standard output, shortened."""
    artifacts: tuple[str, ...] = ()
    """Names of the files it created."""
    problem: str = ""
    """Reason for the failure; empty if it did not fail, or has not run yet."""


class TracedMemory(Experience):
    """Memories that the run recalled and stored."""

    kept: tuple[str, ...] = ()
    """Memories that this run stored."""


class TracedAction(Contract):
    """An action of the model in a repository."""

    action: str
    """Action and its subject, such as `edit src/a.py`."""
    outcome: str
    """Outcome in a line."""
    failed: bool = False


class TracedAnswer(Contract):
    """An answer of the model that works in a repository, with its actions."""

    record: Literal["answer"] = "answer"
    number: int
    """Number of the answer, from 1."""
    at: str
    """Time at which its actions had ended."""
    phase: str
    """Phase of the work."""
    thought: str = ""
    actions: tuple[TracedAction, ...] = ()
    tokens: int = 0
    """Prompt and completion tokens of the answer."""
    cost_usd: float | None = None
    """Cost in US dollars; None if the model has no known price."""
    files: tuple[str, ...] = ()
    """Files that differ from the commit after it."""
    added: int = 0
    removed: int = 0
    """Lines of the patch after it."""


class TracedTestRun(Contract):
    """Tests of a project that were run in one state of its files."""

    record: Literal["test_run"] = "test_run"
    at: str
    """Time of their end."""
    state: str
    """Tests that ran, and the state of the files."""
    outcome: str
    """Counts of the results, or the reason of their absence."""


class TracedVerification(Contract):
    """Verdict of the tests on a change."""

    record: Literal["verification"] = "verification"
    number: int
    """Number of the verification, from 1."""
    at: str
    """Time of the verdict."""
    outcome: str
    """Verdict with the numbers of fixed, kept, failing and broken tests."""


CallKind = Literal["model", "search", "web", "program", "other"]
"""Subject of a call: a role, a search of the knowledge base, the web, a program in the sandbox, or anything else."""


class TracedCall(Contract):
    """Activity of a run with its time; written at its end."""

    record: Literal["call"] = "call"
    name: str
    """Name of the role or of the activity."""
    kind: CallKind
    part: str
    """Part of the run: the run itself, its research, a task, a section or the program."""
    at: str
    """Time at which it was scheduled."""
    ended_at: str
    count: int = 1
    """Number of searches that it has executed; 1 for any other call."""
    model_calls: int = 0
    """Number of billed model answers."""
    tokens: int = 0
    """Prompt and completion tokens."""
    cost_usd: float | None = None
    """Cost in US dollars; None if the model has no known price, or none was asked."""
    failure: str = ""
    """Reason of a permanent failure, or of the fallback's answer."""


class TracedOutline(Contract):
    """Start of the research: its first outline and the work that it may do."""

    record: Literal["outline"] = "outline"
    headings: tuple[str, ...] = ()
    """Headings of the first outline."""
    effort: ResearchEffort
    """Amount of work allowed for the research."""


StoryRecord = Annotated[
    TracedCall
    | ControlRecord
    | TracedOutline
    | TracedPlan
    | TracedTask
    | TracedCycle
    | TracedDecision
    | TracedThought
    | TracedSection
    | TracedReflection
    | TracedProgram
    | TracedAnswer
    | TracedTestRun
    | TracedVerification,
    Field(discriminator="record"),
]
"""Record of something that has happened in a run."""


class StoryFacts(Contract):
    """Facts of a run that no record contains."""

    mode: TaskMode = "UNDEFINED"
    """Path taken."""
    complexity: Complexity | None = None
    memory: TracedMemory | None = None
    """Memories recalled and stored; None if there were none."""
    attempts: tuple[Attempt, ...] = ()
    feedback: tuple[FeedbackRecord, ...] = ()
    notes: tuple[str, ...] = ()
    """Run log."""
    omitted: int = 0
    """Number of records that were left out, since a run keeps a limited number."""


class Story(StoryFacts):
    """Records of a run; a finished run returns them with its result, another one on request.

    The story of a finished run leaves out the programs, the feedback and the log, which its result contains.
    """

    records: tuple[StoryRecord, ...] = ()
    """Records, in the order in which the run received them."""


class RecordedResult(Result):
    """Result of a run with its story, as the workflow returns it; readers of the result alone ignore the story."""

    story: Story


class RunHead(Contract):
    """Facts about a run that the server or the archive knows."""

    id: str
    question: str
    started_at: str
    ended_at: str = ""
    """End time; empty while it runs."""
    status: str
    """Status of its result, or of its workflow on the server."""
    failure: str = ""
    """Reason for a missing result."""


class Trace(RunHead, StoryFacts):
    """Story of a run as commands and pages show it."""

    effort: ResearchEffort | None = None
    """Amount of work allowed for the research."""
    programs: tuple[TracedProgram, ...] = ()
    """Programs over tables, in order."""
    work: tuple[TracedAnswer | TracedTestRun | TracedVerification, ...] = ()
    """Steps of the work in a repository, in order."""
    outline: tuple[str, ...] = ()
    """First outline."""
    initial_findings: tuple[Finding, ...] = ()
    """Passages found for the whole question before the first cycle."""
    cycles: tuple[TracedCycle, ...] = ()
    thoughts: tuple[TracedThought, ...] = ()
    sections: tuple[TracedSection, ...] = ()
    """Sections, by revision."""
    reflections: tuple[TracedReflection, ...] = ()
    web: WebReport | None = None
    """Use of the web, once the run has ended."""
    commands: tuple[ControlRecord, ...] = ()
    """Other commands of people."""
    decisions: tuple[str, ...] = ()
    """Reasons for continuing or ending the run, in order."""
    calls: tuple[TracedCall, ...] = ()
    """All calls of the run and its parts that have ended, by the time of their start."""
