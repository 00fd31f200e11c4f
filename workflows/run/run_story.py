"""Collect the story of a run: the records of all its parts, and the facts that only the run knows."""

from collections.abc import Sequence

from temporalio import workflow

from workflows.run.feedback_log import FeedbackLog
from workflows.run.part_records import PartRecords
from workflows.run.run_memory import RunMemory
from workflows.run.status_publisher import StatusPublisher

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.choices import Complexity
    from tenure.contracts.research.trace import RecordedResult, Story
    from tenure.contracts.result.result import Result


def build_story(
    complexity: Complexity | None,
    notes: Sequence[str],
    status: StatusPublisher,
    memory: RunMemory,
    parts: PartRecords,
    feedback: FeedbackLog,
) -> Story:
    """Return the story of a run so far."""
    return Story(
        mode=status.progress.mode,
        complexity=complexity,
        memory=memory.traced,
        attempts=parts.attempts,
        feedback=feedback.build_records(),
        notes=(*notes, *memory.notes),
        records=parts.log.records,
        omitted=parts.log.omitted,
    )


def add_story(result: Result, notes: tuple[str, ...], story: Story) -> RecordedResult:
    """Return a result with further notes and the story of its run, without the facts that the result contains."""
    fields = {**dict(result), "notes": (*result.notes, *notes)}
    return RecordedResult(**fields, story=story.model_copy(update={"attempts": (), "feedback": (), "notes": ()}))
