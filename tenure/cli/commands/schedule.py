"""Command `schedule`: create and manage scheduled questions."""

import asyncio
import secrets
from argparse import Namespace
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.table import Table
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

from tenure.cli.commands.start import plan
from tenure.cli.requests import parse_request
from tenure.cli.terminal import print_json, print_note, print_notes, print_table
from tenure.contracts.run.run import RunRequest
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import truncate_bytes, truncate_line
from tenure.runs.messages import StartRequest
from tenure.runs.paths import allow_reading
from tenure.runs.run_ids import check_run, slugify
from tenure.runs.session.connection import AGENT_WORKFLOW, explain_refusals, open_session, register_search_attributes
from tenure.runs.session.server_target import ServerTarget, ensure_server
from tenure.runs.start import PlannedRun, add_notifications, check_corpora, render_details
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE

ACTIONS = ("list", "pause", "resume", "trigger", "backfill", "delete")

_LATE = timedelta(hours=1)
"""Default catch-up window: actions due while no server ran still start within this time."""
_DONE = {
    "pause": "is paused",
    "resume": "is asked again",
    "trigger": "is asked now",
    "backfill": "is asked for the missed times",
    "delete": "is no longer asked",
}


def schedule(arguments: Namespace, settings: Settings) -> int:
    """Run `schedule`: with `--cron` the text is a question, otherwise an action."""
    if arguments.cron is not None:
        return _ask_again(arguments, settings)
    if arguments.what not in ACTIONS:
        raise InvalidRequest(f'give a time, such as --cron "0 8 * * 1", or one of {", ".join(ACTIONS)}')
    if (arguments.id is None) != (arguments.what == "list"):
        raise InvalidRequest(f"name a scheduled question: `{PROGRAM} schedule list` shows them")
    backfill = arguments.what == "backfill"
    if (arguments.begin is not None) != backfill or (arguments.end is not None and not backfill):
        raise InvalidRequest("--from TIME belongs to `schedule backfill ID`, and is needed there")
    place = ensure_server(settings)
    print_notes(place)
    return asyncio.run(_print_schedules(arguments, place) if arguments.what == "list" else _manage(arguments, place))


def build_schedule(arguments: Namespace, planned: PlannedRun) -> Schedule:
    """Return the schedule that the arguments describe."""
    request, name = planned.request, planned.id
    overlap = ScheduleOverlapPolicy[(arguments.overlap or "skip").upper()]
    catchup = _LATE if arguments.catchup is None else timedelta(seconds=arguments.catchup)
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
            cron_expressions=[arguments.cron],
            time_zone_name=arguments.timezone,
            jitter=None if arguments.jitter is None else timedelta(seconds=arguments.jitter),
        ),
        policy=SchedulePolicy(overlap=overlap, catchup_window=catchup),
        state=ScheduleState(paused=arguments.paused),
    )


async def create_schedule(client: Client, wanted: Schedule, name: str) -> datetime | None:
    """Create a scheduled question and return its first time, or None if it never runs.

    Raises:
        InvalidRequest: the name is in use, or the cron expression is invalid.
    """
    try:
        handle = await client.create_schedule(name, wanted)
    except ScheduleAlreadyRunningError as error:
        raise InvalidRequest(f"the name {name} is in use: choose another --name, or delete it first") from error
    except RPCError as error:
        if error.status == RPCStatusCode.INVALID_ARGUMENT:
            raise InvalidRequest(
                f"the server does not take the schedule: {truncate_line(error.message, 200)}"
            ) from error
        raise
    due = (await handle.describe()).info.next_action_times
    return due[0] if due else None


def _ask_again(arguments: Namespace, settings: Settings) -> int:
    """Run `schedule QUESTION`."""
    planned = plan(parse_request(StartRequest, arguments, {"question": arguments.what, "id": None}), settings)
    request = planned.request.model_copy(update={"scheduled": True})
    private = settings.encryption_keys is not None or bool(settings.owner)
    named = secrets.token_hex(6) if private else f"{slugify(request.question)}-{secrets.token_hex(3)}"
    name = check_run(arguments.name or f"question-{named}")
    place = ensure_server(settings)
    print_notes(place)
    allow_reading(settings, request.ingest, name, request.files)
    return asyncio.run(_create(arguments, place, replace(planned, id=name, request=add_notifications(request, place))))


async def _create(arguments: Namespace, place: ServerTarget, planned: PlannedRun) -> int:
    name = planned.id
    client = await open_session(place)
    await register_search_attributes(client, place)
    await check_corpora(client, planned.request)
    with explain_refusals(name):
        due = await create_schedule(client, build_schedule(arguments, planned), name)
    if arguments.json:
        print_json({"id": name, "next": due.isoformat() if due else None, "paused": arguments.paused})
    else:
        when = f"first at {due:%Y-%m-%d %H:%M} UTC" if due else "never"
        print_note(f"scheduled question {name}: asked {when}" + (" once it is resumed" if arguments.paused else ""))
    return 0


async def _manage(arguments: Namespace, place: ServerTarget) -> int:
    """Run an action on one scheduled question."""
    client = await open_session(place)
    handle = client.get_schedule_handle(arguments.id)
    with explain_refusals(arguments.id):
        try:
            await apply_action(arguments, handle)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            raise InvalidRequest(
                f"there is no scheduled question {arguments.id}: `{PROGRAM} schedule list` shows them"
            ) from error
    if arguments.json:
        print_json({"id": arguments.id, "action": arguments.what})
    else:
        print_note(f"scheduled question {arguments.id} {_DONE[arguments.what]}")
    return 0


async def apply_action(arguments: Namespace, handle: ScheduleHandle) -> None:
    """Apply the action of the arguments to a scheduled question.

    Raises:
        RPCError: the server refuses.
    """
    match arguments.what:
        case "pause":
            await handle.pause()
        case "resume":
            await handle.unpause()
        case "trigger":
            await handle.trigger()
        case "backfill":
            await handle.backfill(parse_catchup_window(arguments))
        case _:
            await handle.delete()


def parse_catchup_window(arguments: Namespace) -> ScheduleBackfill:
    """Return the backfill range; its runs are sequential, since each is compared with the last one."""
    return ScheduleBackfill(
        start_at=arguments.begin,
        end_at=arguments.end or datetime.now(UTC),
        overlap=ScheduleOverlapPolicy[(arguments.overlap or "buffer_all").upper()],
    )


async def _print_schedules(arguments: Namespace, place: ServerTarget) -> int:
    """Print the scheduled questions."""
    client = await open_session(place)
    with explain_refusals("schedule list"):
        rows = await list_schedules(client)
    if arguments.json:
        print_json({"schedules": rows})
    elif rows:
        print_table(_build_table(rows))
    else:
        print_note(f'there is no scheduled question: `{PROGRAM} schedule "QUESTION" --cron "0 8 * * 1"` makes one')
    return 0


async def list_schedules(client: Client) -> list[dict[str, Any]]:
    """Return the scheduled questions.

    Raises:
        RPCError: the server refuses.
    """
    rows = []
    async for listed in await client.list_schedules():
        action = listed.schedule.action if listed.schedule else None
        if isinstance(action, ScheduleListActionStartWorkflow) and action.workflow == AGENT_WORKFLOW:
            rows.append(await _describe_schedule(client, listed.id))
    return sorted(rows, key=lambda row: str(row["id"]))


async def _describe_schedule(client: Client, name: str) -> dict[str, Any]:
    """Return one scheduled question."""
    found = await client.get_schedule_handle(name).describe()
    action = found.schedule.action
    if not isinstance(action, ScheduleActionStartWorkflow):
        raise TypeError(f"{name} starts no workflow")
    [payload] = action.args
    [request] = await client.data_converter.decode([payload], [RunRequest])
    due, runs = found.info.next_action_times, found.info.recent_actions
    started = runs[-1].action if runs else None
    last = started.workflow_id if isinstance(started, ScheduleActionExecutionStartWorkflow) else ""
    return {
        "id": name,
        "question": request.question,
        "paused": found.schedule.state.paused,
        "next": due[0].isoformat() if due else None,
        "last": runs[-1].started_at.isoformat() if runs else None,
        "last_run": last,
        "runs": found.info.num_actions,
    }


def _build_table(rows: list[dict[str, Any]]) -> Table:
    """Return scheduled questions as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("scheduled question", "next", "last run", "runs"):
        table.add_column(heading, no_wrap=True)
    table.add_column("question", ratio=1, overflow="ellipsis", no_wrap=True)
    for row in rows:
        due = "paused" if row["paused"] else str(row["next"] or "never")[:16]
        table.add_row(
            row["id"], due, row["last_run"] or "none yet", str(row["runs"]), truncate_line(row["question"], 120)
        )
    return table
