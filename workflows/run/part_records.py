"""Record what the child workflows of a run report: their usage, and what they have made so far."""

from collections.abc import Sequence
from typing import Any

from temporalio import workflow

from workflows.runtime.story_log import StoryLog

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.coding.programs import select_best_attempt, trim_history
    from tenure.contracts.research.progress import ProgressUpdate
    from tenure.contracts.research.trace import TracedTask
    from tenure.contracts.result.programs import Attempt
    from tenure.contracts.run.run import TopicProgress, WorkflowUsage
    from tenure.contracts.sandbox import Artifact

MAX_DISPLAYED_TASKS = 6
"""Tasks with tools whose steps the query `state` returns."""


class PartRecords:
    """Latest reports of the child workflows of one run, and of their own children."""

    def __init__(self, log: StoryLog) -> None:
        """Start without any report; records of the workflows are added to `log`."""
        self.log = log
        self.usages: dict[str, WorkflowUsage] = {}
        self.artifacts: tuple[Artifact, ...] = ()
        self._attempts: dict[int, Attempt] = {}

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Programs tried, without long texts."""
        return trim_history(tuple(self._attempts.values()))

    @property
    def tasks(self) -> tuple[TracedTask, ...]:
        """Latest tasks that used tools."""
        records = (record for record in self.log.records if isinstance(record, TracedTask) and record.steps)
        return tuple(records)[-MAX_DISPLAYED_TASKS:]

    def record(self, update: ProgressUpdate) -> None:
        """Record what one workflow has used and made so far."""
        if update.usage is not None:
            self.usages[update.reporter] = update.usage
        self._attempts |= {attempt.n: attempt for attempt in update.attempts}
        self.artifacts += update.artifacts
        self.log.add(*update.records)

    def list_changes(self, update: ProgressUpdate, topics: Sequence[TopicProgress]) -> dict[str, Any]:
        """Return the fields of the run's progress that an update changes, given the topics displayed so far."""
        topics_by_name = {topic.topic: topic for topic in topics}
        for part in (*update.parts, update):
            if part.is_full_outline:
                topics_by_name = {}
            topics_by_name.update({topic.topic: topic for topic in part.topics})
        newest = (update, *reversed(update.parts))
        best_attempt = select_best_attempt(self._attempts.values())
        return {
            "phase": next((part.phase for part in newest if part.phase), None),
            "cycle": update.cycle,
            "revision": update.revision,
            "tests_passed": best_attempt.passed if best_attempt else None,
            "tests": best_attempt.total if best_attempt else None,
            "repository": update.repository,
            "topics": tuple(topics_by_name.values()),
            "steps": update.steps,
            "last": next((part.last for part in newest if part.last), None),
        }
