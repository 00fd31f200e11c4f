"""What Temporal starts by itself: upkeep of the knowledge base and its memories, and the reading of watched folders.

The worker that serves workflows makes the schedules of upkeep when it starts. Their ids are made from the address of
the knowledge base: every home has its own, and workers that share an object store share the schedules. A watched
folder's schedule is made by the client, and its id is made from the corpus that the folder is read into.
"""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

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
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE

_LATE = timedelta(hours=1)
"""What was due while no server ran is made up for within this time, and dropped after it."""
# By name: the client need not load what the workflows run.
_MAINTENANCE = "MaintenanceWorkflow"
_CONSOLIDATION = "ConsolidationWorkflow"
_INGEST = "IngestWorkflow"
_WATCH = "watch-"
_SUMMARY = 200
"""Bytes that the server takes as the summary of a workflow."""


@dataclass(frozen=True)
class Watched:
    """A corpus that is read anew from time to time."""

    corpus: str
    """Its name."""
    every: timedelta
    """How often."""
    paths: tuple[str, ...]
    """What is read."""
    paused: bool
    """Whether somebody has paused it."""
    last: datetime | None
    """When it was read the last time by the schedule; None where it has not been yet."""


def maintenance_id(settings: Settings) -> str:
    """Return the id of the schedule of maintenance for the knowledge base of these settings."""
    return f"maintenance-{_base(settings)}"


def consolidation_id(settings: Settings) -> str:
    """Return the id of the schedule that consolidates the memories of the knowledge base of these settings."""
    return f"consolidation-{_base(settings)}"


def _base(settings: Settings) -> str:
    return hashlib.sha256(settings.knowledge_uri.encode()).hexdigest()[:10]


async def schedule_upkeep(client: Client, settings: Settings) -> None:
    """Make the schedules be as the settings say; a server that does not let us is no reason not to work."""
    upkeep = (
        (_MAINTENANCE, maintenance_id(settings), settings.maintenance_hours, "look after the knowledge base"),
        (_CONSOLIDATION, consolidation_id(settings), settings.consolidation_hours, "consolidate memories"),
    )
    try:
        for workflow, id, hours, about in upkeep:
            if hours:
                await _create_or_update(client, id, _schedule(workflow, id, hours, about))
            else:
                await _delete(client, id)
    except RPCError as error:
        structlog.get_logger().warning(
            "the knowledge base is not maintained: the server refuses the schedule", reason=error.message
        )


def _schedule(workflow: str, id: str, hours: float, about: str) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(workflow, id=id, task_queue=TENURE_QUEUE, static_summary=about),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=hours))]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_LATE),
    )


async def watch(client: Client, request: IngestRequest, every: timedelta) -> None:
    """Have a corpus read anew from time to time; what was said of it before is replaced.

    Raises:
        RPCError: the server refuses.
    """
    paths = ", ".join(request.paths).encode()[:_SUMMARY].decode(errors="ignore")
    wanted = Schedule(
        action=ScheduleActionStartWorkflow(
            _INGEST,
            request,
            id=f"ingest-{request.corpus}",
            task_queue=TENURE_QUEUE,
            static_summary=paths,
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_LATE),
    )
    await _create_or_update(client, f"{_WATCH}{request.corpus}", wanted)


async def watched(client: Client) -> AsyncIterator[Watched]:
    """Yield the corpora that are read anew from time to time.

    Raises:
        RPCError: the server refuses.
    """
    async for listed in await client.list_schedules():
        if listed.id.startswith(_WATCH):
            found = await client.get_schedule_handle(listed.id).describe()
            action = found.schedule.action
            if isinstance(action, ScheduleActionStartWorkflow) and action.workflow == _INGEST:
                [payload] = action.args
                [request] = await client.data_converter.decode([payload], [IngestRequest])
                actions = found.info.recent_actions
                yield Watched(
                    corpus=request.corpus,
                    every=found.schedule.spec.intervals[0].every,
                    paths=request.paths,
                    paused=found.schedule.state.paused,
                    last=actions[-1].started_at if actions else None,
                )


async def unwatch(client: Client, corpus: str) -> bool:
    """End the watching of a corpus; tell whether it was watched.

    Raises:
        RPCError: the server refuses.
    """
    return await _delete(client, f"{_WATCH}{corpus}")


async def _create_or_update(client: Client, id: str, wanted: Schedule) -> None:
    async def updated(found: ScheduleUpdateInput) -> ScheduleUpdate:
        # Whether it is paused is a person's decision.
        return ScheduleUpdate(replace(wanted, state=found.description.schedule.state))

    try:
        await client.create_schedule(id, wanted)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(id).update(updated)


async def _delete(client: Client, id: str) -> bool:
    """Delete a schedule; tell whether there was one."""
    try:
        await client.get_schedule_handle(id).delete()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
