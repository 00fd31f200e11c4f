"""Copy finished runs from the server into the archive.

A run is archived when its last execution has ended, with all of its continuations and its children, but without the
workflows that outlive it. Repetitions write the same row.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from temporalio.api.enums.v1 import ParentClosePolicy
from temporalio.api.history.v1 import History, HistoryEvent
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from tenure.contracts.base import RunId
from tenure.contracts.knowledge.archive import (
    ArchiveProgress,
    ArchiveReply,
    ArchiveReport,
    ArchiveRequest,
    ArchiveSweepRequest,
)
from tenure.knowledge.runs import ArchivedRun, ArchivedRuns
from tenure.temporal.archive.container import VERSION, ArchiveError, RunTree, encode_run
from tenure.temporal.archive.reading import describe_run
from tenure.temporal.histories import ENDINGS, HistorySource, ServerHistories, UnknownHistory

ARCHIVED_WORKFLOWS = ("AgentWorkflow", "AskWorkflow", "BatchWorkflow")
"""Workflow types whose results commands read after their end."""

NOT_ARCHIVED = "NotArchived"
"""Type of the failure for a run that cannot be archived."""

END_TIMEOUT_SECONDS = 15.0
"""Time that a run has to end after it has asked to be archived; an activity that waits longer is repeated."""

CHILD_END_TIMEOUT_SECONDS = 10.0
"""Time that a child has to end after its parent; the history of one that does not is archived as it is."""


class RunArchiver:
    """Writer of the archive.

    Args:
        client: connection to the server.
        runs: the archive.
    """

    def __init__(self, client: Client, runs: ArchivedRuns) -> None:
        self._client, self._runs, self._source = client, runs, ServerHistories(client)

    async def archive_run(self, request: ArchiveRequest) -> ArchiveReply:
        """Archive a run when it has ended; a run that the server has removed is left out.

        Raises:
            TimeoutError: the run does not end.
            ApplicationError: it is too large.
            KnowledgeError: the archive cannot be written.
            RPCError: the server does not answer.
        """
        try:
            return await self._archive(request)
        except ArchiveError as error:
            message = f"run {request.run} is not archived, since its archive {error}"
            raise ApplicationError(message, type=NOT_ARCHIVED, non_retryable=True) from error

    async def _archive(self, request: ArchiveRequest) -> ArchiveReply:
        try:
            async with asyncio.timeout(END_TIMEOUT_SECONDS):
                await self._source.fetch_last_event(request.run, request.execution)
            tree = await collect_run(self._source, request.run, request.execution)
        except UnknownHistory:
            return ArchiveReply()
        size = await asyncio.to_thread(self._save, tree)
        return ArchiveReply(workflows=len(tree.histories), events=tree.event_count, size=size)

    async def archive_missing(
        self, request: ArchiveSweepRequest, report: Callable[[ArchiveProgress], None]
    ) -> ArchiveReport:
        """Archive ended runs that the archive lacks: those that were terminated, or lost their worker.

        Raises:
            KnowledgeError: the archive cannot be read or written.
            RPCError: the server does not answer.
        """
        began = datetime.now(UTC)
        types = ", ".join(f"'{name}'" for name in ARCHIVED_WORKFLOWS)
        query = f"WorkflowType IN ({types}) AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"
        if request.since is not None:
            query += f" AND CloseTime >= '{request.since.isoformat()}'"
        ended = [(found.id, found.run_id) async for found in self._client.list_workflows(query)]
        known = await asyncio.to_thread(self._runs.find_executions, [run for _, run in ended])
        missing = [(id, run) for id, run in ended if run not in known]
        failed: list[str] = []
        for done, (id, run) in enumerate(missing):
            report(ArchiveProgress(done=done, total=len(missing)))
            try:
                await self._archive(ArchiveRequest(run=RunId(id), execution=run))
            except ArchiveError as error:
                failed.append(f"{id}: its archive {error}")
        return ArchiveReport(
            archived=len(missing) - len(failed),
            known=len(ended) - len(missing),
            failed=tuple(failed),
            began=began,
            all_listed=began if request.since is None else None,
        )

    def _save(self, tree: RunTree) -> int:
        archive = encode_run(tree)
        self._runs.save_run(ArchivedRun(description=describe_run(tree), version=VERSION, archive=archive))
        return len(archive)


async def collect_run(source: HistorySource, workflow_id: str, execution: str) -> RunTree:
    """Return the histories of an ended run and of its children.

    Raises:
        UnknownHistory: the source does not have the run.
        RPCError: the server does not answer.
    """
    chain: list[tuple[str, Sequence[HistoryEvent]]] = []
    earlier = execution
    while earlier:
        events = await source.fetch_events(workflow_id, earlier)
        chain.insert(0, (earlier, events))
        earlier = events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    tree = RunTree(workflow_id, execution)
    waiting: list[tuple[str, str]] = []
    for run, events in chain:
        tree.histories[workflow_id, run] = History(events=events)
        waiting += _list_children(tree.id, events)
    while waiting:
        id, run = waiting.pop(0)
        if (id, run) not in tree.histories and (events := await _fetch_child(source, id, run)):
            tree.histories[id, run] = History(events=events)
            following = events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
            waiting += [*([(id, following)] if following else []), *_list_children(tree.id, events)]
    return tree


async def _fetch_child(source: HistorySource, workflow_id: str, execution: str) -> Sequence[HistoryEvent]:
    """Return the events of a child when it has ended; none if the source does not have it."""
    try:
        events = await source.fetch_events(workflow_id, execution)
        following = events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
        if events[-1].event_type in ENDINGS or following:
            return events
        try:
            async with asyncio.timeout(CHILD_END_TIMEOUT_SECONDS):
                await source.fetch_last_event(workflow_id, execution)
        except TimeoutError:
            return events
        return await source.fetch_events(workflow_id, execution)
    except UnknownHistory:
        return ()


def _list_children(run_id: str, events: Sequence[HistoryEvent]) -> list[tuple[str, str]]:
    """Return the ids of the started children that belong to a run and end with it."""
    lasting = {
        event.event_id
        for event in events
        if event.start_child_workflow_execution_initiated_event_attributes.parent_close_policy
        == ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON
    }
    started = (
        event.child_workflow_execution_started_event_attributes
        for event in events
        if event.HasField("child_workflow_execution_started_event_attributes")
    )
    return [
        (child.workflow_execution.workflow_id, child.workflow_execution.run_id)
        for child in started
        if child.initiated_event_id not in lasting and child.workflow_execution.workflow_id.startswith(f"{run_id}/")
    ]
