"""Commands of the group `schedule`: create and manage scheduled questions."""

from collections.abc import Coroutine

from tenure.cli.command import CommandHome
from tenure.cli.output import Output, print_rows
from tenure.cli.terminal import print_note
from tenure.installation import PROGRAM
from tenure.runs.automation.schedules import (
    ScheduleAction,
    backfill_schedule,
    change_schedule,
    create_schedule,
    list_schedules,
    plan_schedule,
)
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import BackfillBody, ScheduleBody
from tenure.runs.service import Service
from tenure.runs.start import PlannedRun

_DONE = {
    "pause": "is paused",
    "resume": "is asked again",
    "trigger": "is asked now",
    "delete": "is no longer asked",
}


def add(home: CommandHome, body: ScheduleBody, output: Output) -> Coroutine[None, None, None]:
    """Ask a question on a schedule."""
    planned = plan_schedule(body, home.settings)
    for note in planned.notes:
        print_note(note)
    return _add(home.open(), body, planned, output)


async def _add(service: Service, body: ScheduleBody, planned: PlannedRun, output: Output) -> None:
    due = await create_schedule(service, body, planned)
    when = f"first at {due:%Y-%m-%d %H:%M} UTC" if due else "never"
    output.print_note(
        {"id": planned.id, "next": due.isoformat() if due else None, "paused": body.paused},
        f"scheduled question {planned.id}: asked {when}" + (" once it is resumed" if body.paused else ""),
    )


async def change(service: Service, name: str, action: ScheduleAction, output: Output) -> None:
    """Pause, resume, trigger or delete a scheduled question."""
    await change_schedule(service, name, action)
    output.print_note({"id": name, "action": action}, f"scheduled question {name} {_DONE[action]}")


async def backfill(service: Service, name: str, body: BackfillBody, output: Output) -> None:
    """Ask a scheduled question for missed times."""
    await backfill_schedule(service, name, body)
    output.print_note({"id": name, "action": "backfill"}, f"scheduled question {name} is asked for the missed times")


async def show(service: Service, output: Output) -> None:
    """Print the scheduled questions."""
    scheduled = await list_schedules(service)
    if not scheduled:
        output.print_note(
            {"schedules": []},
            f'there is no scheduled question: `{PROGRAM} schedule add "QUESTION" --cron "0 8 * * 1"` makes one',
        )
    elif not output.print_json({"schedules": scheduled}):
        print_rows(
            ("scheduled question", "next", "last run", "runs", "question"),
            (
                (
                    schedule.id,
                    "paused" if schedule.paused else f"{schedule.next:%Y-%m-%dT%H:%M}" if schedule.next else "never",
                    schedule.last_run or "none yet",
                    str(schedule.runs),
                    truncate_line(schedule.question, 120),
                )
                for schedule in scheduled
            ),
            cut="question",
        )
