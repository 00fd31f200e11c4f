"""State of one report: the results of its phases so far."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from temporalio import workflow

from workflows.research.reasoning import ReasoningResult

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.outline_edits import apply_outline, describe_dropped_topics
    from tenure.algorithms.research.research_state import align_topics
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.evidence.disputes import Contradiction
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.research.report import Critique, SectionDraft, SectionResult, Topic
    from tenure.contracts.research.spiral import SpiralResult
    from tenure.contracts.result.result import CritiqueRecord, Evaluation
    from tenure.contracts.run.control import OutlineRevision


@dataclass(frozen=True)
class ReportState:
    """Immutable state of one report; each change makes a new one."""

    topics: tuple[Topic, ...] = ()
    """The outline."""
    outline_number: int = 0
    """Number of the person's outline that is applied; 0 if no person has set one."""
    hypothetical_answers: Mapping[str, str] = field(default_factory=dict)
    """Hypothetical answers to the questions of topics that came with the outline, by heading."""
    research: SpiralResult = field(default_factory=lambda: SpiralResult(topics=()))
    """Result of the research loop."""
    reasoning: ReasoningResult = field(default_factory=ReasoningResult)
    """Verified reasoning over all findings."""
    sections: Mapping[str, SectionResult] = field(default_factory=dict)
    """Newest version of each section, by heading."""
    found: tuple[PassageRef, ...] = ()
    """Passages that searches have found while sections were written."""
    started_sections: int = 0
    """Number of section workflows started, of all generations."""
    revisions: int = 0
    """Generations of the report, the first one included."""
    critiques: tuple[CritiqueRecord, ...] = ()
    """Critiques that a generation followed, with their outcomes."""
    considerations: tuple[str, ...] = ()
    """Further considerations for readers."""
    contradictions: tuple[Contradiction, ...] = ()
    """Contradictions between sources."""
    sources_compared: bool = False
    """Whether contradictions between sources were looked for."""
    disputes_resolved: bool = False
    """Whether primary or newer sources were looked for on all disputes."""
    evaluation: Evaluation | None = None
    """The last verdict of a model; None if no model has judged the report."""
    notes: tuple[str, ...] = ()
    """Notes for readers on how the report was made."""
    sent_feedback: frozenset[tuple[str, str]] = frozenset()
    """Feedback that section workflows were started with, each with the heading of the section."""
    followed_feedback: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Headings of the sections that follow a piece of feedback, by its text."""
    has_no_critique: bool = False
    """Whether the last reflection found nothing to improve."""
    writes_after_finish: bool = False
    """Whether sections are written although people want an end: the research found passages for them."""
    cancelled: bool = False
    """Whether a person cancelled the run."""
    failure: str = ""
    """Description of the step that failed permanently; empty if none did."""

    @property
    def written_sections(self) -> tuple[SectionDraft, ...]:
        """The sections with text, in the order of the outline."""
        return manuscript.list_written_sections(self.topics, self.sections)

    def with_notes(self, notes: Iterable[str]) -> "ReportState":
        """Return the state with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def with_outline(self, outline: OutlineRevision) -> "ReportState":
        """Return the state with a person's outline; sections and findings of topics that it keeps stay."""
        edit = apply_outline(self.topics, outline)
        topics = align_topics(self.research.topics, edit)
        return replace(
            self,
            outline_number=outline.number,
            topics=edit.topics,
            sections=manuscript.rename_sections(self.sections, edit),
            research=self.research.model_copy(update={"topics": topics}),
        ).with_notes(describe_dropped_topics(edit))

    def with_research(self, research: SpiralResult) -> "ReportState":
        """Return the state with the result of the research loop, which may have changed the outline."""
        return replace(
            self,
            research=research,
            topics=tuple(topic.topic for topic in research.topics),
            outline_number=research.outline_number,
            failure=research.failure,
        ).with_notes(research.notes)

    def with_next_generation(self, critiques: Sequence[Critique]) -> "ReportState":
        """Return the state at the start of a generation; critiques without a section ask for a new one."""
        added = (manuscript.build_requested_topic(critique) for critique in critiques if critique.topic is None)
        return replace(self, topics=(*self.topics, *added))

    def with_feedback_sent(self, heading: str, critiques: Iterable[Critique]) -> "ReportState":
        """Return the state after a section was started with the critiques of people."""
        sent = {(critique.critique, heading) for critique in critiques if critique.origin == "person"}
        return replace(self, sent_feedback=self.sent_feedback | sent)

    def with_section(self, result: SectionResult) -> "ReportState":
        """Return the state with a new version of a section; one without text never replaces one with text."""
        heading, before = result.topic.heading, self.sections.get(result.topic.heading)
        has_text, had_text = bool(result.draft.claims), bool(before and before.draft.claims)
        followed = dict(self.followed_feedback)
        if has_text and (before is None or result.draft != before.draft):
            for text in result.feedback:
                followed[text] = (*followed.get(text, ()), heading)
        return replace(
            self,
            sections={**self.sections, heading: result} if has_text or not had_text else self.sections,
            followed_feedback=followed,
            found=manuscript.add_new_passages(self.found, result.found),
        ).with_notes([*([result.note] if result.note else []), *result.removed])
