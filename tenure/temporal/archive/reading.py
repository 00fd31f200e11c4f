"""Read finished runs from the archive in the knowledge base."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter

from tenure.contracts.knowledge.archive import RunDescription
from tenure.contracts.research.trace import WorkflowStatus
from tenure.temporal.archive.container import RunTree
from tenure.temporal.histories import ENDINGS, UnknownHistory
from workflows.runtime.search_attributes import MODE, OWNER, PHASE, STATUS

_WORDS: Mapping[WorkflowStatus, str] = {
    "completed": "",
    "failed": "failed",
    "cancelled": "cancelled",
    "terminated": "terminated",
    "timed_out": "timed out",
}
"""Statuses that a workflow cannot give itself, by that of the server."""

_MAX_ATTRIBUTE_LENGTH = 200
_RUN = "AgentWorkflow"


class ArchivedHistories:
    """Histories of one archived run.

    Args:
        tree: the run.
        converter: data converter that decodes the payloads.
    """

    def __init__(self, tree: RunTree, converter: DataConverter) -> None:
        self._tree, self._converter = tree, converter

    @property
    def converter(self) -> DataConverter:
        """Data converter that decodes the payloads."""
        return self._converter

    async def fetch_events(self, workflow_id: str, execution: str | None = None) -> Sequence[HistoryEvent]:
        """Return all events of an execution.

        Raises:
            UnknownHistory: the archive does not have it.
        """
        chosen = execution or self._find_latest(workflow_id)
        if (history := self._tree.histories.get((workflow_id, chosen))) is None:
            raise UnknownHistory(workflow_id)
        return history.events

    async def fetch_first_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that starts an execution."""
        return (await self.fetch_events(workflow_id, execution))[0]

    async def fetch_last_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that ends an execution."""
        return (await self.fetch_events(workflow_id, execution))[-1]

    def _find_latest(self, workflow_id: str) -> str:
        if workflow_id == self._tree.id:
            return self._tree.execution
        return next((run for name, run in reversed(self._tree.histories) if name == workflow_id), "")


def describe_run(tree: RunTree) -> RunDescription:
    """Return the description of a run, which is derived from its histories."""
    events = tree.last_history.events
    first = next(history for (name, _), history in tree.histories.items() if name == tree.id).events[0]
    started, ending = events[0].workflow_execution_started_event_attributes, ENDINGS[events[-1].event_type]
    attributes = dict(started.search_attributes.indexed_fields)
    for event in events:
        upsert = event.upsert_workflow_search_attributes_event_attributes
        attributes.update(upsert.search_attributes.indexed_fields)
    question = started.memo.fields.get("question")
    return RunDescription(
        execution=tree.execution,
        id=tree.id,
        type=started.workflow_type.name[:_MAX_ATTRIBUTE_LENGTH],
        status=_WORDS[ending] or _read_keyword(attributes, STATUS.name),
        phase=_read_keyword(attributes, PHASE.name),
        mode=_read_keyword(attributes, MODE.name),
        owner=_read_keyword(attributes, OWNER.name),
        started_at=_format_time(first.event_time),
        closed_at=_format_time(events[-1].event_time),
        question=b"" if question is None else question.SerializeToString(deterministic=True),
    )


def list_batch_runs(tree: RunTree) -> tuple[str, ...]:
    """Return the ids of the runs that a batch has started."""
    started = (
        event.child_workflow_execution_started_event_attributes
        for history in tree.histories.values()
        for event in history.events
    )
    return tuple(child.workflow_execution.workflow_id for child in started if child.workflow_type.name == _RUN)


def _read_keyword(attributes: Mapping[str, Payload], name: str) -> str:
    """Return a search attribute, which is never encrypted; empty if the run has none."""
    try:
        found = json.loads(attributes[name].data)
    except (KeyError, ValueError):
        return ""
    return found[:_MAX_ATTRIBUTE_LENGTH] if isinstance(found, str) else ""


def _format_time(moment: Timestamp) -> str:
    return moment.ToDatetime(UTC).isoformat(timespec="microseconds")
