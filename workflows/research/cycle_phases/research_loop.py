"""State and clients that the phases of a cycle share."""

from collections.abc import Awaitable
from typing import Any, TypeVar

from temporalio import workflow

from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.memory.experience import CompletedTask
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.outline_edits import apply_outline, describe_dropped_topics
    from tenure.algorithms.research.research_state import append_log
    from tenure.algorithms.writing.manuscript import rename_parts
    from tenure.contracts.research.spiral import AnalysisReply, ExecutedQuery, SpiralRequest
    from tenure.contracts.research.trace import TracedCycle, TracedPlan
    from tenure.contracts.run.run import SectionPhase, StepProgress
    from tenure.roles.research.planner import TopicCoverage

D = TypeVar("D")
T = TypeVar("T")


class ResearchLoop:
    """State and clients of one research loop.

    `state` is an immutable contract: a phase replaces it by the next state, which a pure function computes.
    """

    def __init__(self, parent: ControllableWorkflow, request: SpiralRequest) -> None:
        """Start from the outline of a request, or from the state that earlier cycles left in it."""
        self.parent = parent
        self.request = request
        self.state = request.state or research_state.create_initial_state(request.outline, request.outline_number)
        self.clients = ActivityClients(parent, request.limits, question=request.question, run=request.run)
        self.clients.record.usage = self.state.usage
        self.clients.lease.restore(self.state.unused_budget, self.state.budget_requests)
        self.searched_tasks: list[CompletedTask] = []
        self.steps: tuple[StepProgress, ...] = ()
        if request.progress:
            self.clients.progress.report(parts=(request.progress,))
        self.analysis = AnalysisReply()
        """Analysis of the findings of this cycle."""
        self.plan: TracedPlan | None = None
        """Record of the plan that is carried out."""
        self.end_reason = ""
        """Reason of the planner to end; empty while it wants another cycle."""

    @property
    def is_planned_by_rule(self) -> bool:
        """Whether rules plan this cycle: they make the searches of the outline, and nothing is found yet to judge."""
        return self.state.cycle == 1 and not self.request.effort.plans_first_cycle

    @property
    def max_searches(self) -> int:
        """Maximum number of searches of this cycle; an outline of a model names more than a plan."""
        effort = self.request.effort
        is_outlined = self.is_planned_by_rule and any(topic.topic.queries for topic in self.state.topics)
        return max(effort.subagents, effort.outline_searches) if is_outlined else effort.subagents

    @property
    def max_topics(self) -> int:
        """Maximum number of topics of the outline; without a model, rules may add to those of the effort."""
        return self.request.effort.sections if self.request.limits.has_model else self.request.limits.max_sections

    def apply_pending_outline(self) -> None:
        """Apply the outline that a person has set, between two cycles."""
        outline = self.parent.find_pending_outline(self.state.outline_number)
        if outline is None:
            return
        edit = apply_outline([topic.topic for topic in self.state.topics], outline)
        self.state = research_state.apply_outline_change(self.state, edit, outline.number)
        self.update(dossier=rename_parts(self.state.dossier, edit))
        self.end_reason = ""
        for line in describe_dropped_topics(edit):
            self.add_note(line)

    def update(self, **changes: Any) -> None:
        """Replace fields of the state."""
        assert changes.keys() <= type(self.state).model_fields.keys(), changes
        self.state = self.state.model_copy(update=changes)

    def add_note(self, line: str) -> None:
        """Add a note for the readers of the report."""
        self.update(notes=append_log(self.state.notes, line))

    async def try_step(self, step: Awaitable[T], default: D, failure: str) -> T | D:
        """Return the result of a step that the research can do without, or a default after a note if it fails."""
        return await run_optional_step(step, default, failure, self.add_note, MODEL_STEP_LIMIT)

    def add_decision(self, line: str) -> None:
        """Add a decision on whether the research continues, for the readers of the report."""
        self.update(decisions=append_log(self.state.decisions, line))

    def record_query(self, query: str, topic: str) -> None:
        """Record that a query is made in this cycle."""
        executed = ExecutedQuery(query=query, topic=topic, cycle=self.state.cycle)
        self.state = research_state.record_queries(self.state, [executed])

    def record_cycle(self) -> None:
        """Record what the analysis of this cycle has found, and the topics that were named since."""
        state = self.state
        self.parent.log.add(
            TracedCycle(
                number=state.cycle,
                accepted=self.analysis.accepted,
                rejected=self.analysis.rejected,
                coverage={topic.topic.heading: topic.coverage for topic in state.topics},
                gain=state.information_gains[-1] if state.cycle else None,
                latent_topics=tuple(topic.heading for topic in state.latent_topics if topic.cycle == state.cycle),
            )
        )

    def measure_coverage(self) -> tuple[TopicCoverage, ...]:
        """Return the outline with the coverage of each topic, as roles read it."""
        return tuple(
            TopicCoverage(
                heading=topic.topic.heading,
                question=topic.topic.question,
                queries=topic.topic.queries if self.is_planned_by_rule else (),
                coverage=topic.coverage,
                passages=len(topic.passages),
                open_parts=topic.open_parts,
            )
            for topic in self.state.topics
        )

    def report_progress(self, last: str) -> None:
        """Report the progress of the research to the run."""
        self.clients.progress.report(**self.describe_progress(last, "retrieving"))

    def describe_progress(self, last: str, phase: SectionPhase) -> dict[str, Any]:
        """Return the news of the research, whose topics are all in one phase."""
        return {
            "phase": "research",
            "cycle": self.state.cycle,
            "topics": tuple(research_state.build_topic_progress(topic, phase) for topic in self.state.topics),
            "is_full_outline": True,
            "steps": self.steps,
            "last": last,
        }
