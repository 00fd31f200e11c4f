"""What Temporal starts by itself: the maintenance of the knowledge base.

The worker that serves workflows makes the schedule when it starts. Its id is made from the address of
the knowledge base: every home has its own, and workers that share an object store share the schedule.
"""

import hashlib
from dataclasses import replace
from datetime import timedelta

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

from tenure.settings import Settings
from workflows.maintenance import MaintenanceWorkflow
from workflows.queues import TENURE_QUEUE

_LATE = timedelta(hours=1)
"""A maintenance that was due while no server ran is made up for within this time, and dropped after it."""


def maintenance_id(settings: Settings) -> str:
    """Return the id of the schedule for the knowledge base of these settings."""
    return f"maintenance-{hashlib.sha256(settings.knowledge_uri.encode()).hexdigest()[:10]}"


async def schedule_maintenance(client: Client, settings: Settings) -> None:
    """Make the schedule be as the settings say; a server that does not let us is no reason not to work."""
    try:
        if settings.maintenance_hours:
            await _create_or_update(client, maintenance_id(settings), _schedule(settings))
        else:
            await _delete(client, maintenance_id(settings))
    except RPCError as error:
        structlog.get_logger().warning(
            "the knowledge base is not maintained: the server refuses the schedule", reason=error.message
        )


def _schedule(settings: Settings) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(
            MaintenanceWorkflow.run,
            id=maintenance_id(settings),
            task_queue=TENURE_QUEUE,
            static_summary="look after the knowledge base",
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=settings.maintenance_hours))]),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_LATE),
    )


async def _create_or_update(client: Client, id: str, wanted: Schedule) -> None:
    async def updated(found: ScheduleUpdateInput) -> ScheduleUpdate:
        # Whether it is paused is a person's decision.
        return ScheduleUpdate(replace(wanted, state=found.description.schedule.state))

    try:
        await client.create_schedule(id, wanted)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(id).update(updated)


async def _delete(client: Client, id: str) -> None:
    try:
        await client.get_schedule_handle(id).delete()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
