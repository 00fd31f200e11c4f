"""State of one report: the results of its phases so far."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.outline_edits import apply_outline, describe_dropped_topics
    from tenure.algorithms.research.research_state import align_topics, list_open_points
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.evidence.disputes import Contradiction
    from tenure.contracts.evidence.reasoning import Reasoning
    from tenure.contracts.research.dossier import Dossier
    from tenure.contracts.research.report import Critique, ReportText, SectionDraft, Topic
    from tenure.contracts.research.spiral import SpiralResult, SpiralState
    from tenure.contracts.result.result import CritiqueRecord, Evaluation
    from tenure.contracts.run.control import OutlineRevision


@dataclass(frozen=True)
class ReportState:
    """Immutable state of one report; each change makes a new one."""

    topics: tuple[Topic, ...] = ()
    """The outline."""
    outline_number: int = 0
    """Number of the person's outline that is applied; 0 if no person has set one."""
    research: SpiralState = field(default_factory=SpiralState)
    """State of the research after its last cycle, without the dossier, which later phases extend."""
    is_research_cut: bool = False
    """Whether a person or a limit ended the research before its plans and guards did."""
    reasoning: Reasoning | None = None
    """Verified line of reasoning over the dossier; None if there is none."""
    dossier: Dossier = field(default_factory=Dossier)
    """Passages from which the report is written and reviewed."""
    text: ReportText = field(default_factory=ReportText)
    """Newest version of the report."""
    searches: tuple[str, ...] = ()
    """Searches since the text was written, whose passages no review has read."""
    first_new: int = 0
    """Number of the first passage that these searches have found; 0 for none."""
    is_reviewed: bool = False
    """Whether a review has read the current text."""
    open_critiques: tuple[Critique, ...] = ()
    """Requests of the last review."""
    reviews: tuple[str, ...] = ()
    """Critiques of all reviews."""
    written_topics: frozenset[str] = frozenset()
    """Headings of the topics that were written, whether or not anything was found on them."""
    revisions: int = 0
    """Generations of the report, the first one included."""
    critiques: tuple[CritiqueRecord, ...] = ()
    """Critiques that a generation followed, with their outcomes."""
    considerations: tuple[str, ...] = ()
    """Further considerations for readers."""
    contradictions: tuple[Contradiction, ...] = ()
    """Contradictions between sources."""
    evaluation: Evaluation | None = None
    """Verdict of the last review; None if no model has judged the report."""
    notes: tuple[str, ...] = ()
    """Notes for readers on how the report was made."""
    considered_feedback: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Headings of the sections for which feedback was considered, by its text."""
    followed_feedback: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Headings of the sections that changed by feedback, by its text."""
    has_no_critique: bool = False
    """Whether the last reflection found nothing to improve."""

    @property
    def written_sections(self) -> tuple[SectionDraft, ...]:
        """The sections with text, in the order of the outline."""
        return manuscript.list_written_sections(self.topics, self.text, self.dossier)

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
            text=manuscript.rename_sections(self.text, edit),
            dossier=manuscript.rename_parts(self.dossier, edit),
            research=self.research.model_copy(update={"topics": topics}),
        ).with_notes(describe_dropped_topics(edit))

    def with_research(self, research: SpiralResult) -> "ReportState":
        """Return the state with the result of the research loop, which may have changed the outline."""
        state = research.state
        return replace(
            self,
            research=state.model_copy(update={"dossier": Dossier()}),
            is_research_cut=research.is_cut,
            dossier=state.dossier,
            topics=tuple(topic.topic for topic in state.topics),
            outline_number=state.outline_number,
        ).with_notes((*state.notes, *list_open_points(state)))

    def with_text(self, text: ReportText, feedback: Mapping[str, Sequence[str]]) -> "ReportState":
        """Return the state with a new version, for which feedback on some headings was considered."""
        before, now = self.text.sections, text.sections
        changed = {heading for heading in now if now[heading] != before.get(heading)}
        considered = {
            entry: (*self.considered_feedback.get(entry, ()), *headings) for entry, headings in feedback.items()
        }
        followed = {
            entry: (*self.followed_feedback.get(entry, ()), *(heading for heading in headings if heading in changed))
            for entry, headings in feedback.items()
        }
        return replace(
            self,
            text=text,
            considered_feedback={**self.considered_feedback, **considered},
            followed_feedback={**self.followed_feedback, **followed},
        )
