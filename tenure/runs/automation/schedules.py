"""Ask questions on a schedule: create, list, change and backfill schedules."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleBackfill,
    ScheduleHandle,
    ScheduleListActionStartWorkflow,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.run.run import RunRequest
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import truncate_bytes, truncate_line
from tenure.runs.messages import BackfillBody, ScheduleBody, ScheduledQuestion, derive_start
from tenure.runs.run_ids import check_run, slugify
from tenure.runs.session.connection import AGENT_WORKFLOW, Session, explain_refusals
from tenure.runs.start import PlannedRun, plan_run, prepare_run, render_details
from tenure.settings import ClientSettings
from workflows.runtime.task_queues import TENURE_QUEUE

ScheduleAction = Literal["pause", "resume", "trigger", "delete"]

MAX_UPCOMING = 3
"""Next times that are shown."""

_CATCHUP = timedelta(hours=1)
"""Default catch-up window: actions due while no server ran still start within this time."""


def plan_schedule(body: ScheduleBody, settings: ClientSettings) -> PlannedRun:
    """Return the run that a schedule starts, with the name of the schedule, after all checks that need no server.

    Raises:
        InvalidRequest: a path does not exist, or a value does not fit.
    """
    planned = plan_run(derive_start(body, id=None), settings)
    request = planned.request.model_copy(update={"scheduled": True})
    private = settings.encryption_keys is not None or bool(settings.owner)
    suffix = secrets.token_hex(6) if private else f"{slugify(request.question)}-{secrets.token_hex(3)}"
    return replace(planned, id=check_run(body.name or f"question-{suffix}"), request=request)


async def create_schedule(session: Session, body: ScheduleBody, planned: PlannedRun) -> datetime | None:
    """Create a scheduled question and return its first time, or None if it never runs.

    Raises:
        InvalidRequest: the name is in use, the cron expression is invalid, or a corpus does not exist.
    """
    planned = await prepare_run(session, planned)
    with explain_refusals(planned.id):
        return await save_schedule(await session.connect(), build_schedule(body, planned), planned.id)


async def save_schedule(client: Client, schedule: Schedule, name: str) -> datetime | None:
    """Store a schedule at the server and return its first time, or None if it never runs.

    Raises:
        InvalidRequest: the name is in use, or the cron expression is invalid.
    """
    try:
        handle = await client.create_schedule(name, schedule)
    except ScheduleAlreadyRunningError as error:
        raise InvalidRequest(f"{name} is in use: choose another, or delete it first", "name") from error
    except RPCError as error:
        if error.status == RPCStatusCode.INVALID_ARGUMENT:
            raise InvalidRequest(
                f"the server does not take the schedule: {truncate_line(error.message, 200)}"
            ) from error
        raise
    due = (await handle.describe()).info.next_action_times
    return due[0] if due else None


def build_schedule(body: ScheduleBody, planned: PlannedRun) -> Schedule:
    """Return the schedule of a request."""
    request, name = planned.request, planned.id
    return Schedule(
        action=ScheduleActionStartWorkflow(
            AGENT_WORKFLOW,
            request,
            id=name,
            task_queue=TENURE_QUEUE,
            memo={"question": truncate_line(request.question, 500)},
            static_summary=truncate_bytes(request.question),
            static_details=render_details(request, name),
            priority=planned.priority,
        ),
        spec=ScheduleSpec(
            cron_expressions=[body.cron],
            time_zone_name=body.timezone,
            jitter=None if body.jitter is None else timedelta(seconds=body.jitter),
        ),
        policy=SchedulePolicy(
            overlap=ScheduleOverlapPolicy[(body.overlap or "skip").upper()],
            catchup_window=_CATCHUP if body.catchup is None else timedelta(seconds=body.catchup),
        ),
        state=ScheduleState(paused=body.paused),
    )


async def change_schedule(session: Session, name: str, action: ScheduleAction) -> None:
    """Pause, resume, trigger or delete a scheduled question.

    Raises:
        InvalidRequest: there is no such schedule.
    """
    async with _open_schedule(session, name) as handle:
        match action:
            case "pause":
                await handle.pause()
            case "resume":
                await handle.unpause()
            case "trigger":
                await handle.trigger()
            case "delete":
                await handle.delete()


async def backfill_schedule(session: Session, name: str, body: BackfillBody) -> None:
    """Ask a scheduled question for missed times.

    Raises:
        InvalidRequest: there is no such schedule.
    """
    async with _open_schedule(session, name) as handle:
        await handle.backfill(build_backfill(body))


def build_backfill(body: BackfillBody) -> ScheduleBackfill:
    """Return the backfill of a request; its runs are sequential, since each is compared with the last one."""
    return ScheduleBackfill(
        start_at=body.begin,
        end_at=body.end or datetime.now(UTC),
        overlap=ScheduleOverlapPolicy[(body.overlap or "buffer_all").upper()],
    )


@asynccontextmanager
async def _open_schedule(session: Session, name: str) -> AsyncIterator[ScheduleHandle]:
    """Yield the handle of a schedule, and explain the refusals of the server."""
    handle = (await session.connect()).get_schedule_handle(name)
    with explain_refusals(name):
        try:
            yield handle
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            raise InvalidRequest(
                f"there is no scheduled question {name}: `{PROGRAM} schedule list` shows them"
            ) from error


async def list_schedules(session: Session) -> list[ScheduledQuestion]:
    """Return the scheduled questions by name.

    Raises:
        TenureError: the server refuses.
    """
    client, described = await session.connect(), []
    with explain_refusals("schedule list"):
        async for listed in await client.list_schedules():
            action = listed.schedule.action if listed.schedule else None
            if isinstance(action, ScheduleListActionStartWorkflow) and action.workflow == AGENT_WORKFLOW:
                described.append(await _describe_schedule(client, listed.id))
    return sorted(described, key=lambda schedule: schedule.id)


async def _describe_schedule(client: Client, name: str) -> ScheduledQuestion:
    description = await client.get_schedule_handle(name).describe()
    action = description.schedule.action
    if not isinstance(action, ScheduleActionStartWorkflow):
        raise TypeError(f"{name} starts no workflow")
    [payload] = action.args
    [request] = await client.data_converter.decode([payload], [RunRequest])
    due, runs = description.info.next_action_times, description.info.recent_actions
    actions = [run.action for run in reversed(runs)]
    latest = tuple(one.workflow_id for one in actions if isinstance(one, ScheduleActionExecutionStartWorkflow))
    return ScheduledQuestion(
        id=name,
        question=request.question,
        paused=description.schedule.state.paused,
        next=due[0] if due else None,
        upcoming=tuple(due[:MAX_UPCOMING]),
        last=runs[-1].started_at if runs else None,
        last_run=latest[0] if latest else "",
        latest_runs=latest,
        runs=description.info.num_actions,
    )
