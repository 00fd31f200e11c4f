"""Collect the records that one workflow of a run writes of itself, until a message or a result delivers them.

The run has those of all parts. It returns them with its result, whose size a server limits, so their number is limited.
"""

from datetime import UTC, datetime
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research.trace import CallKind, StoryRecord, TracedCall

MAX_STORY_BYTES = 800_000
"""Size of all records as JSON: a call has about 250 bytes, so 100 cycles of 8 tasks with 2 calls each take half of it.
A server accepts 2 MB, of which the longest report needs half."""


class StoryLog:
    """Records of one workflow, or of a whole run."""

    def __init__(self, part: str) -> None:
        """Start without any record of a part of the run."""
        self._part = part
        self._records: list[StoryRecord] = []
        self._bytes = 0
        self.omitted = 0
        """Number of records that were left out."""

    @property
    def records(self) -> tuple[StoryRecord, ...]:
        """Records that were not drained."""
        return tuple(self._records)

    def add(self, *records: StoryRecord) -> None:
        """Add records as long as there is room for them."""
        for record in records:
            size = len(record.model_dump_json())
            if self._bytes + size > MAX_STORY_BYTES:
                self.omitted += 1
            else:
                self._records.append(record)
                self._bytes += size

    def add_call(self, name: str, kind: CallKind, started: datetime, **outcome: Any) -> None:
        """Add a call that was scheduled at a time and ends now, with further fields of its record."""
        at, ended_at = format_time(started), format_time(workflow.now())
        self.add(TracedCall(name=name, kind=kind, part=self._part, at=at, ended_at=ended_at, **outcome))

    def drain(self) -> tuple[StoryRecord, ...]:
        """Return the records and forget them."""
        drained, self._records, self._bytes = self.records, [], 0
        return drained


def format_time(moment: datetime) -> str:
    """Return a time of the workflow as records contain it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
