"""State and clients that the phases of a report share."""

import functools
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from temporalio import workflow

from workflows.research.report_phases.report_state import ReportState
from workflows.runtime.clients import ActivityClients
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step
from workflows.runtime.partial_result import PartialResultWorkflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.effort import choose_effort
    from tenure.algorithms.research.open_parts import find_unplanned_parts
    from tenure.algorithms.research.research_state import append_log
    from tenure.algorithms.writing import manuscript
    from tenure.algorithms.writing.trace_records import describe_sections
    from tenure.contracts.research.cycle import ResearchEffort
    from tenure.contracts.research.report import ReportReview, ReportText
    from tenure.contracts.research.spiral import ResearchRequest
    from tenure.contracts.run.control import OutlineRevision
    from tenure.contracts.run.run import RunPhase, SectionPhase

D = TypeVar("D")
T = TypeVar("T")

PHASES_WITH_OUTLINE = ("outline", "research", "write", "reflect", "refine", "compose")
"""Phases at whose start the whole outline is reported."""


class ReportContext:
    """State and clients of one report."""

    def __init__(self, parent: PartialResultWorkflow, request: ResearchRequest) -> None:
        """Start without an outline, or with that of the run that this one forks."""
        self.parent = parent
        self.request = request
        self.clients = ActivityClients(parent, request.limits, question=request.question, run=request.run)
        self.state = ReportState()
        self.versions = 0
        """Number of versions that were written, by edits of a review as well."""
        if request.state:
            topics = tuple(topic.topic for topic in request.state.topics)
            self.update(topics=topics, outline_number=request.state.outline_number)

    @property
    def max_revisions(self) -> int:
        """Maximum number of versions of the report without feedback of a person.

        A simple question has one: a second review costs as much as its whole report.
        """
        limit = self.request.limits.max_report_revisions
        return limit if self.effort.reflects else min(limit, 1)

    @property
    def effort(self) -> ResearchEffort:
        """Amount of work that the question is worth."""
        return choose_effort(self.request.complexity, self.request.limits)

    @property
    def max_sections(self) -> int:
        """Maximum number of sections; with a model, every section costs its calls."""
        return self.effort.sections if self.request.limits.has_model else self.request.limits.max_sections

    @property
    def unplanned_parts(self) -> tuple[str, ...]:
        """Parts of the question that the outline lacks, unless a person has set it."""
        topics = [f"{topic.heading}. {topic.question}" for topic in self.state.topics]
        return () if self.state.outline_number else find_unplanned_parts(self.request.question, topics)

    def update(self, **changes: Any) -> None:
        """Replace fields of the state."""
        self.state = replace(self.state, **changes)

    def add_notes(self, notes: Iterable[str]) -> None:
        """Add notes for the readers of the report."""
        self.state = self.state.with_notes(notes)

    async def try_step(self, step: Awaitable[T], default: D, failure: str) -> T | D:
        """Return the result of a step that the report can do without, or a default after a note if it fails."""
        return await run_optional_step(step, default, failure, lambda note: self.add_notes([note]), MODEL_STEP_LIMIT)

    def add_decisions(self, lines: Iterable[str]) -> None:
        """Add decisions for the readers of the trace."""
        decisions = functools.reduce(append_log, lines, self.state.research.decisions)
        self.update(research=self.state.research.model_copy(update={"decisions": decisions}))

    @property
    def pending_outline(self) -> OutlineRevision | None:
        """Outline that a person has set and that is not applied yet; None if there is none."""
        return self.parent.find_pending_outline(self.state.outline_number)

    def apply_pending_outline(self) -> bool:
        """Apply the outline that a person has set; return whether there was one."""
        outline = self.pending_outline
        if outline is None:
            return False
        self.state = self.state.with_outline(outline)
        return True

    def record_version(
        self, text: ReportText, requests: tuple[str, ...] = (), review: ReportReview | None = None
    ) -> None:
        """Record the sections of a new version of the report, with the requests and the review that led to it."""
        self.versions += 1
        self.parent.log.add(*describe_sections(text, self.versions, requests, review))

    def report_progress(self, phase: RunPhase, last: str = "", topics: SectionPhase = "waiting") -> None:
        """Report a phase to the run, and the phase that its topics are in."""
        self.clients.progress.report(**self.describe_progress(phase, last, topics))

    def describe_progress(self, phase: RunPhase, last: str, topics: SectionPhase = "waiting") -> dict[str, Any]:
        """Return the news of a phase."""
        state, has_outline = self.state, phase in PHASES_WITH_OUTLINE
        researched = state.research.topics or (self.request.state.topics if self.request.state else ())
        return {
            "phase": phase,
            "revision": state.revisions,
            "topics": manuscript.summarize_progress(state.topics, state.text, state.dossier, researched, topics)
            if has_outline
            else (),
            "is_full_outline": has_outline and bool(state.topics),
            "last": last,
        }
