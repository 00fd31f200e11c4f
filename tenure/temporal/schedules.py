"""Create Temporal schedules: maintenance, memory consolidation, archiving and re-reading of watched folders.

The worker that serves workflows creates the upkeep schedules when it starts. Their ids are derived from the address
of the knowledge base: workers that share an object store share the schedules. The client creates the schedule of a
watched folder, with an id derived from the corpus.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.settings.knowledge import KnowledgeSettings
from workflows.runtime.task_queues import TENURE_QUEUE

_CATCHUP_WINDOW = timedelta(hours=1)
"""Catch-up window: actions that were due while no server ran still start within this time."""
# By name, so that the client does not import the workflows.
MAINTENANCE = "MaintenanceWorkflow"
_CONSOLIDATION = "ConsolidationWorkflow"
_ARCHIVE = "ArchiveSweepWorkflow"
_INGEST = "IngestWorkflow"
_WATCH = "watch-"
MAX_SUMMARY_BYTES = 200
"""Maximum length of a workflow summary in bytes."""


@dataclass(frozen=True)
class WatchedCorpus:
    """Corpus that a schedule re-reads."""

    corpus: str
    """Name of the corpus."""
    every: timedelta
    """Interval between two readings."""
    paths: tuple[str, ...]
    """Files and folders that are read."""
    paused: bool
    """Whether the schedule is paused."""
    last: datetime | None
    """Time of the last scheduled reading, or None if there was none yet."""


def make_upkeep_id(task: str, knowledge_uri: str) -> str:
    """Return the id of the schedule of a task, such as `maintenance`, for a knowledge base."""
    return f"{task}-{hashlib.sha256(knowledge_uri.encode()).hexdigest()[:10]}"


async def schedule_upkeep(client: Client, settings: KnowledgeSettings) -> None:
    """Create or update the upkeep schedules; a server that refuses them does not stop the worker."""
    upkeep = (
        ("maintenance", MAINTENANCE, settings.maintenance_hours, "maintain the knowledge base"),
        ("consolidation", _CONSOLIDATION, settings.consolidation_hours, "consolidate memories"),
        ("archive", _ARCHIVE, settings.archive_hours, "archive ended runs"),
    )
    try:
        for task, workflow, hours, about in upkeep:
            id = make_upkeep_id(task, settings.knowledge_uri)
            if hours:
                # Runs from before the archive are archived at the first start.
                schedule = _build_schedule(workflow, id, timedelta(hours=hours), about)
                await _create_or_update(client, id, schedule, now=workflow == _ARCHIVE)
            else:
                await _delete(client, id)
    except RPCError as error:
        structlog.get_logger().warning(
            "the knowledge base is not maintained: the server refuses the schedule", reason=error.message
        )


def _build_schedule(workflow: str, id: str, every: timedelta, about: str, args: Sequence[Any] = ()) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(workflow, args=args, id=id, task_queue=TENURE_QUEUE, static_summary=about),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_CATCHUP_WINDOW),
    )


async def watch_corpus(client: Client, request: IngestRequest, every: timedelta) -> None:
    """Create or replace the schedule that re-reads a corpus.

    Raises:
        RPCError: the server refuses.
    """
    paths = ", ".join(request.paths).encode()[:MAX_SUMMARY_BYTES].decode(errors="ignore")
    schedule = _build_schedule(_INGEST, f"ingest-{request.corpus}", every, paths, [request])
    await _create_or_update(client, f"{_WATCH}{request.corpus}", schedule)


async def list_watched_corpora(client: Client) -> AsyncIterator[WatchedCorpus]:
    """Yield the watched corpora.

    Raises:
        RPCError: the server refuses.
    """
    async for listed in await client.list_schedules():
        if listed.id.startswith(_WATCH):
            described = await client.get_schedule_handle(listed.id).describe()
            action = described.schedule.action
            if isinstance(action, ScheduleActionStartWorkflow) and action.workflow == _INGEST:
                [payload] = action.args
                [request] = await client.data_converter.decode([payload], [IngestRequest])
                actions = described.info.recent_actions
                yield WatchedCorpus(
                    corpus=request.corpus,
                    every=described.schedule.spec.intervals[0].every,
                    paths=request.paths,
                    paused=described.schedule.state.paused,
                    last=actions[-1].started_at if actions else None,
                )


async def unwatch_corpus(client: Client, corpus: str) -> bool:
    """Delete the schedule of a watched corpus and return whether it existed.

    Raises:
        RPCError: the server refuses.
    """
    return await _delete(client, f"{_WATCH}{corpus}")


async def _create_or_update(client: Client, id: str, schedule: Schedule, *, now: bool = False) -> None:
    """Create or update a schedule; a new one starts its workflow immediately if `now`."""

    async def updated(current: ScheduleUpdateInput) -> ScheduleUpdate:
        # The user decides whether it is paused.
        return ScheduleUpdate(replace(schedule, state=current.description.schedule.state))

    try:
        await client.create_schedule(id, schedule, trigger_immediately=now)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(id).update(updated)


async def _delete(client: Client, id: str) -> bool:
    """Delete a schedule and return whether it existed."""
    try:
        await client.get_schedule_handle(id).delete()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
