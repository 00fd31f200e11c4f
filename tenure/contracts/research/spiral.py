"""Research loop of cycles (the spiral): plans, findings and decisions, and the state carried from cycle to cycle."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId
from tenure.contracts.choices import Complexity, SearchMode
from tenure.contracts.evidence.disputes import PositionEvidence
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.react import ReactStep
from tenure.contracts.evidence.retrieval import RetrievalStrategy, RetrievedPassage
from tenure.contracts.research.cycle import Finding, Rejection, ResearchEffort
from tenure.contracts.research.dossier import Dossier
from tenure.contracts.research.learning import Experience, StrategyOutcome
from tenure.contracts.research.progress import ProgressUpdate
from tenure.contracts.research.report import Topic
from tenure.contracts.run.budget import BudgetAmounts
from tenure.contracts.run.run import (
    FallbackRecord,
    Feedback,
    PartRequest,
    PlanStepKind,
    QueryType,
    StepStatus,
    Usage,
    WorkflowUsage,
)

GainTrend = Literal["Increasing", "Steady", "Stalling"]


class StepAlternative(Contract):
    """Alternative search of a step, tried once if the step fails or finds nothing."""

    query: str
    strategy: RetrievalStrategy | None = None
    """Retrieval strategy chosen by the plan, if any."""


class InsertedName(Contract):
    """Name in the results of an earlier step that was inserted into the query of a later one."""

    name: str
    """The name as the passage spells it."""
    title: str = ""
    """Title of the document that contains it."""


class StepPreparation(Contract):
    """Query of a step after the results of the steps it depends on are known."""

    query: str
    """The query; as planned if nothing was inserted."""
    names: tuple[InsertedName, ...] = ()
    answered_by: int = Field(default=0, ge=0)
    """Number of the passage, from 1, that already answers the query; 0 for none."""
    title: str = ""
    """Title of the document of this passage."""


class Operand(Contract):
    """A figure of a calculation with its source."""

    label: str
    """Subject of the figure."""
    figure: str
    """The figure as the passage writes it."""
    passage: int = Field(ge=1)
    """Number of the passage, from 1."""
    title: str = ""


class PreparedCalculation(Contract):
    """A calculation whose figures occur in passages."""

    expression: str = ""
    """Expression for the calculator; empty if the passages lack a figure."""
    operands: tuple[Operand, ...] = ()
    problem: str = ""
    """Reason that there is no expression; empty on success."""


class PlanStep(Contract):
    """A step of a plan."""

    id: str
    kind: PlanStepKind = "search"
    query: str
    """Query text, question to a document, criteria of a comparison, or question about figures."""
    planned_query: str = ""
    """Query before names were inserted or an alternative replaced it; empty if it is unchanged."""
    inserted: tuple[InsertedName, ...] = ()
    """Names of earlier results in the query."""
    topic: str
    """Heading of the topic it serves."""
    read_passage: PassageRef | None = None
    """Passage whose source is to be read further; None for a search in all sources."""
    depends_on: tuple[str, ...] = ()
    """Steps whose results it needs."""
    expected_output: str = ""
    strategy: RetrievalStrategy | None = None
    """Retrieval strategy chosen by the plan, if any."""
    search_mode: SearchMode | None = None
    """Search mode chosen by the plan, if any."""
    alternative: StepAlternative | None = None
    """Search that is tried once if the step fails or finds nothing; None for none."""
    status: StepStatus = "pending"
    is_answered: bool = False
    """Whether it was skipped because earlier results suffice; steps that depend on it use those."""
    note: str = ""
    """Reason for its failure or for skipping it, or use of its alternative."""


class ExecutedQuery(Contract):
    """An executed query and its results."""

    query: str
    topic: str
    """Heading of the topic it served."""
    cycle: int
    found: int = 0
    accepted: int = 0
    """Number of those that were new and relevant."""


class TopicState(Contract):
    """A topic of the outline with its best evidence."""

    topic: Topic
    passages: tuple[PassageRef, ...] = ()
    """Accepted passages that contribute most to its coverage."""
    coverage: float = 0.0
    """Coverage, 0 to 1."""
    open_parts: tuple[str, ...] | None = None
    """Parts of its question that no accepted passage speaks of; None before the first analysis."""


class CandidatePassage(RetrievedPassage):
    """A passage found by a task."""

    topic: str
    """Heading of the topic it was found for."""


class AnalysisRequest(Contract):
    """Passages found by the tasks of a cycle, to be accepted or rejected."""

    run: RunId
    """Id of the run, which identifies the passages accepted in earlier cycles."""
    cycle: int
    """Number of the cycle, from 1."""
    question: str
    """Question of the whole report."""
    corpora: tuple[str, ...]
    topics: tuple[TopicState, ...]
    candidates: tuple[CandidatePassage, ...]
    min_relevance: float
    min_novelty: float


class AnalysisReply(Contract):
    """Accepted and rejected passages of a cycle."""

    accepted: tuple[Finding, ...] = ()
    """New and relevant passages, most relevant first."""
    rejected: tuple[Rejection, ...] = ()
    """Numbers of rejected passages, by query."""
    latent: tuple[tuple[PassageRef, ...], ...] = ()
    """Groups of passages that are relevant to the question but to no topic of the outline."""
    open_parts: dict[str, tuple[str, ...]] = {}
    """Parts of each topic's question that no accepted passage speaks of, by heading."""


class LatentTopic(Contract):
    """A topic of the sources that is missing in the outline."""

    heading: str
    question: str
    """Question that a section on it would answer."""
    passages: int
    cycle: int
    """Cycle in which it was first found."""


class EarlierResult(Contract):
    """Result of a step on which a task depends."""

    step: str
    query: str
    topic: str
    """Heading of the topic it serves."""
    passages: tuple[PassageRef, ...] = ()
    """Its best passages."""


class SubagentRequest(PartRequest):
    """One task of a cycle."""

    step: PlanStep
    strategy: RetrievalStrategy
    strategy_reason: str = ""
    """Reason for the strategy, if experience chose it or the one of the plan was not possible."""
    hypothetical_answer: str = ""
    """Hypothetical passage of the task's topic (HyDE)."""
    max_hops: int = 1
    """Maximum number of dependent searches."""
    max_answers: int | None = None
    """Maximum number of model answers of a task with tools; None for no limit."""
    earlier: tuple[EarlierResult, ...] = ()
    """Results of the steps it depends on."""
    made_queries: tuple[str, ...] = ()
    """Queries of the cycle so far."""


class SubagentResult(Contract):
    """Result of a task."""

    step: str
    prepared: PlanStep | None = None
    """The step with names inserted, skipped, or with the reason for its failure; None if it was executed as planned."""
    candidates: tuple[CandidatePassage, ...] = ()
    """Distinct passages found."""
    queries: tuple[str, ...] = ()
    """Additional queries besides its own."""
    steps: tuple[ReactStep, ...] = ()
    """Thoughts, actions and observations of the `react` strategy."""
    answer: str = ""
    """Answer of the `react` strategy, with passage numbers; not part of a report."""
    positions: tuple[PositionEvidence, ...] = ()
    """Evidence of the `contrastive` strategy for and against a position."""
    failure: str = ""
    """Description of the call that failed permanently, after what was found before; empty if none did."""
    usage: Usage = Usage()
    fallbacks: tuple[FallbackRecord, ...] = ()
    """Calls answered by a fallback."""
    progress: ProgressUpdate | None = None
    """Last progress of the task, which its run has not received."""


class SpiralState(Contract):
    """Research state that one cycle passes to the next; its size is bounded whatever the amount of evidence."""

    cycle: int = 0
    """Number of cycles started."""
    topics: tuple[TopicState, ...] = ()
    """Topics of the outline with their coverage."""
    executed: tuple[ExecutedQuery, ...] = ()
    information_gains: tuple[float, ...] = ()
    latent_topics: tuple[LatentTopic, ...] = ()
    """Topics of the sources that are missing in the outline."""
    dropped: tuple[str, ...] = ()
    critique: str = ""
    """Last critique of the planner."""
    refused_actions: tuple[str, ...] = ()
    """Actions of the last plan that were refused, with the reasons."""
    unplanned: tuple[PassageRef, ...] = ()
    """Most relevant findings since the last plan, about whose names rules ask next."""
    dossier: Dossier = Dossier()
    """Passages that a model reads which plans; the report is written from them."""
    planner_feedback_count: int = 0
    """Number of feedback items that the planner has received."""
    feedback_queries: dict[str, tuple[str, ...]] = {}
    """Queries made because of feedback, by its text."""
    questions_asked: tuple[str, ...] = ()
    """Questions to people, each with the assumption made without an answer."""
    outline_number: int = 0
    """Number of the outline revision in effect; 0 while the planner may change the outline."""
    decisions: tuple[str, ...] = ()
    """Reasons for continuing or ending the research, in order."""
    strategy_outcomes: tuple[StrategyOutcome, ...] = ()
    """Results of the retrieval strategies."""
    positions: tuple[PositionEvidence, ...] = ()
    """Evidence for and against positions, in the order in which they were first searched for."""
    decisive: dict[str, tuple[PassageRef, ...]] = {}
    """Passages that tasks have computed or cited, and the best of those that a model requested, by topic heading."""
    tool_answers: int = 0
    """Model answers that tasks with tools have used or may still use."""
    contrastive_task: bool = False
    """Whether a task has searched both sides of the question's position by default."""
    notes: tuple[str, ...] = ()
    """Run log."""
    usage: WorkflowUsage = WorkflowUsage()
    """Usage before the last continue-as-new."""
    fallbacks: tuple[FallbackRecord, ...] = ()
    """Calls answered by a fallback."""
    unused_budget: BudgetAmounts = BudgetAmounts()
    """Budget granted and not used before the last continue-as-new."""
    budget_requests: int = 0
    """Number of the last budget request before the last continue-as-new."""


class ResearchRequest(PartRequest):
    """Start of a research workflow with the routed question and the documents retrieved for it."""

    complexity: Complexity
    query_type: QueryType | None = None
    """Type of answer; None if unknown."""
    evidence: tuple[PassageRef, ...]
    """Passages for the question as a whole, best first."""
    query_results: tuple[PassageRef, ...] = ()
    """Passages of table query results; given to every section, since no search finds them."""
    tool_resources: tuple[str, ...] = ()
    """Tables and offers of MCP servers that tasks with tools can use."""
    experience: Experience = Experience()
    feedback: tuple[Feedback, ...] = ()
    """Feedback received so far."""
    state: SpiralState | None = None
    """State of earlier cycles, of this run or of the one that it forks; None at the start."""


class SpiralRequest(ResearchRequest):
    """Start of the research loop, or its continuation after continue-as-new."""

    effort: ResearchEffort
    outline: tuple[Topic, ...]
    """First outline."""
    outline_number: int = 0
    """Number of the outline revision that `outline` is; 0 for none."""
    progress: ProgressUpdate | None = None
    """News of the parent that the first message of the loop delivers; None if there are none."""


class SpiralResult(Contract):
    """Result of the research loop."""

    state: SpiralState
    failure: str = ""
    """Reason for the permanent failure of a step, if that ended the research."""
    is_cut: bool = False
    """Whether a person or a limit ended it before its plans and guards did."""
    progress: ProgressUpdate | None = None
    """Last progress of the research, which its run has not received."""
