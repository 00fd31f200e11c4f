"""Copy finished runs from the server into the archive.

A run is archived when its last execution has ended, without the workflows that outlive it. Repetitions write the same
row.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from tenure.contracts.base import RunId
from tenure.contracts.knowledge.archive import (
    ArchiveReport,
    ArchiveRequest,
    RunDescription,
)
from tenure.contracts.knowledge.maintenance import UpkeepProgress
from tenure.knowledge.runs import ArchivedRun, ArchivedRuns
from tenure.temporal.archive.container import VERSION, ArchivedDocument, ArchiveError, encode_run
from tenure.temporal.histories import ServerRun, UnknownHistory, fetch_events, find_checkpoints, read_end
from workflows.runtime.search_attributes import MODE, OWNER, PHASE, STATUS

logger = logging.getLogger(__name__)

_RUN: Final = "AgentWorkflow"

ARCHIVED_WORKFLOWS = ("AgentWorkflow", "AskWorkflow", "BatchWorkflow")
"""Workflow types whose results commands read after their end."""

NOT_ARCHIVED = "NotArchived"
"""Type of the failure for a run that cannot be archived."""

END_TIMEOUT_SECONDS = 15.0
"""Time that a run has to end after it has asked to be archived; an activity that waits longer is repeated."""


class RequestMissing(ArchiveError):
    """A run was started without a request, so it is none of ours."""


class RunArchiver:
    """Writer of the archive."""

    def __init__(self, client: Client, runs: ArchivedRuns) -> None:
        self._client, self._runs = client, runs

    async def archive_run(self, request: ArchiveRequest) -> int:
        """Archive a run when it has ended; a run that the server has removed is left out.

        Raises:
            TimeoutError: the run does not end.
            ApplicationError: it is too large, or has no request.
            KnowledgeError: the archive cannot be written.
            RPCError: the server does not answer.
        """
        try:
            return await self._archive(request)
        except ArchiveError as error:
            message = f"run {request.run} is not archived, since its archive {error}"
            raise ApplicationError(message, type=NOT_ARCHIVED, non_retryable=True) from error

    async def _archive(self, request: ArchiveRequest) -> int:
        try:
            async with asyncio.timeout(END_TIMEOUT_SECONDS):
                await ServerRun(self._client, request.run, request.execution).fetch_end()
            document = await collect_run(self._client, request.run, request.execution)
        except UnknownHistory:
            return 0
        return await asyncio.to_thread(self._save, document)

    async def archive_missing(self, since: datetime | None, report: Callable[[UpkeepProgress], None]) -> ArchiveReport:
        """Archive ended runs that the archive lacks: those that were terminated, or lost their worker.

        Raises:
            KnowledgeError: the archive cannot be read or written.
            RPCError: the server does not answer.
        """
        began = datetime.now(UTC)
        types = ", ".join(f"'{name}'" for name in ARCHIVED_WORKFLOWS)
        query = f"WorkflowType IN ({types}) AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"
        if since is not None:
            query += f" AND CloseTime >= '{since.isoformat()}'"
        ended = [(execution.id, execution.run_id) async for execution in self._client.list_workflows(query)]
        archived = await asyncio.to_thread(self._runs.find_executions, [run for _, run in ended])
        missing = [(id, run) for id, run in ended if run not in archived]
        failed: list[str] = []
        foreign = 0
        for done, (id, run) in enumerate(missing):
            report(UpkeepProgress(done=done, total=len(missing)))
            try:
                await self._archive(ArchiveRequest(run=RunId(id), execution=run))
            except RequestMissing:
                logger.warning("run %s is not archived, since another program has started it without a request", id)
                foreign += 1
            except ArchiveError as error:
                failed.append(f"{id}: its archive {error}")
        return ArchiveReport(
            archived=len(missing) - len(failed) - foreign,
            known=len(ended) - len(missing),
            failed=tuple(failed),
            began=began,
            all_listed=began if since is None else None,
        )

    def _save(self, document: ArchivedDocument) -> int:
        archive = encode_run(document)
        self._runs.save_run(ArchivedRun(description=document.description, version=VERSION, archive=archive))
        return len(archive)


async def collect_run(client: Client, workflow_id: str, execution: str) -> ArchivedDocument:
    """Return the content of the archive for an ended run.

    Raises:
        UnknownHistory: the server does not have the run.
        RequestMissing: the run was started without a request.
        RPCError: the server does not answer.
    """
    chain: list[Sequence[HistoryEvent]] = []
    earlier = execution
    while earlier:
        chain.insert(0, await fetch_events(client, workflow_id, earlier))
        earlier = chain[0][0].workflow_execution_started_event_attributes.continued_execution_run_id
    events = chain[-1]
    started = events[0].workflow_execution_started_event_attributes
    if not started.input.payloads:
        raise RequestMissing("has no request")
    end, checkpoints = read_end(events[-1]), find_checkpoints(events)
    has_story = started.workflow_type.name == _RUN and end.result is None
    story = await _ask_for_story(ServerRun(client, workflow_id, execution)) if has_story else None
    return ArchivedDocument(
        description=_describe_run(workflow_id, execution, chain),
        end=end.status,
        priority_key=started.priority.priority_key,
        fairness_key=started.priority.fairness_key,
        request=started.input.payloads[0].SerializeToString(deterministic=True),
        result=_serialize(end.result),
        failure=_serialize(end.failure),
        reason=end.reason,
        story=_serialize(story),
        research=_serialize(checkpoints.research),
        cycles=tuple(cycle.SerializeToString(deterministic=True) for cycle in checkpoints.cycles),
        runs=tuple(child for events in chain for child in _list_runs(events)),
    )


async def _ask_for_story(run: ServerRun) -> Payload | None:
    """Return the story of a run without a result, or None if no worker of its version answers."""
    try:
        return await run.fetch_story()
    except RPCError as error:
        logger.warning("a run is archived without its story, since no worker of its version answers: %s", error)
        return None


def _describe_run(workflow_id: str, execution: str, chain: Sequence[Sequence[HistoryEvent]]) -> RunDescription:
    """Return the description of a run, whose executions are in order."""
    events = chain[-1]
    started = events[0].workflow_execution_started_event_attributes
    attributes = dict(started.search_attributes.indexed_fields)
    for event in events:
        upsert = event.upsert_workflow_search_attributes_event_attributes
        attributes.update(upsert.search_attributes.indexed_fields)
    question, end = started.memo.fields.get("question"), read_end(events[-1]).status
    return RunDescription(
        execution=execution,
        id=workflow_id,
        type=started.workflow_type.name,
        # Only a run that completes gives itself a status.
        status=_read_keyword(attributes, STATUS.name) if end == "completed" else end,
        phase=_read_keyword(attributes, PHASE.name),
        mode=_read_keyword(attributes, MODE.name),
        owner=_read_keyword(attributes, OWNER.name),
        started_at=_format_time(chain[0][0].event_time),
        closed_at=_format_time(events[-1].event_time),
        question=_serialize(question) or b"",
    )


def _list_runs(events: Sequence[HistoryEvent]) -> Iterator[str]:
    """Yield the ids of the runs that a batch has started."""
    for event in events:
        child = event.child_workflow_execution_started_event_attributes
        if child.workflow_type.name == _RUN:
            yield child.workflow_execution.workflow_id


def _read_keyword(attributes: Mapping[str, Payload], name: str) -> str:
    """Return a search attribute, which is never encrypted; empty if the run has none."""
    return str(json.loads(attributes[name].data)) if name in attributes else ""


def _format_time(moment: Timestamp) -> str:
    return moment.ToDatetime(UTC).isoformat(timespec="microseconds")


def _serialize(message: Message | None) -> bytes | None:
    return None if message is None else message.SerializeToString(deterministic=True)
