"""Steering commands: `feedback`, `pause`, `resume`, `finish`, `cancel`, `outline`, `budget`, `approve` and `answer`.

The run itself validates a command and returns its effect. If no worker answers, the command is left with the server
as a signal: a worker applies it, or reports its refusal, as soon as one runs.
"""

import asyncio
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import FailureError
from temporalio.service import RPCError

from tenure.cli.errors import CommandError, UsageError
from tenure.cli.formatting import truncate_line
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import (
    AGENT_WORKFLOW,
    BATCH_WORKFLOW,
    NO_ANSWER,
    QUERY_TIMEOUT,
    explain_refusals,
    open_session,
)
from tenure.cli.session.run_records import open_run
from tenure.cli.session.server_target import ServerTarget, locate_server
from tenure.cli.terminal import print_json, print_note
from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand, RunCommandReply
from tenure.installation import PROGRAM
from tenure.settings import Settings

MAX_FILE_BYTES = 1_000_000
"""Maximum size of an outline file."""

LEFT = "No worker answered; the command is stored and applied as soon as a worker runs."

_TOPICS = TypeAdapter(tuple[OutlineTopic, ...])


def steer(arguments: Namespace, settings: Settings) -> int:
    """Run a steering command; its name is the verb."""
    check_run(arguments.id)
    return asyncio.run(_send(arguments, locate_server(settings), parse_steering(arguments)))


def parse_steering(arguments: Namespace) -> RunCommand:
    """Return the steering command of the arguments.

    Raises:
        UsageError: it is empty, or the outline file cannot be read.
    """
    verb = arguments.command
    text = getattr(arguments, "text", "").strip()
    if verb in ("feedback", "answer") and not text:
        raise UsageError(f"{verb} needs a text")
    return RunCommand(
        name=verb,
        text=text,
        topic=getattr(arguments, "topic", None),
        outline=read_outline(arguments.set) if verb == "outline" else (),
        budget=_budget(arguments) if verb == "budget" else BudgetBounds(),
        discard=getattr(arguments, "discard", False),
    )


def read_outline(path: Path) -> tuple[OutlineTopic, ...]:
    """Read the topics of a file: a JSON list, or one topic per line.

    Raises:
        UsageError: the file cannot be read or contains no outline.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{path} is not an outline: it has more than {MAX_FILE_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
        listed = json.loads(text) if path.suffix == ".json" else _parse_lines(text)
        return _TOPICS.validate_python(listed)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or 'it cannot be opened').lower()}") from error
    except ValidationError as error:
        raise UsageError(f"{path} is not an outline: {error.errors()[0]['msg'].lower()}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not an outline: {truncate_line(str(error), 120)}") from error


def _parse_lines(text: str) -> list[str]:
    """Return the topics of a plain or Markdown list; comments begin with `#`."""
    lines = [line.strip().removeprefix("- ").removeprefix("* ").strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _budget(arguments: Namespace) -> BudgetBounds:
    budget = BudgetBounds(**{name: getattr(arguments, name) for name in BudgetBounds.model_fields})
    if budget == BudgetBounds():
        raise UsageError("budget needs a bound, such as --max-tokens 200000 or --deadline 2h")
    return budget


async def _send(arguments: Namespace, place: ServerTarget, steering: RunCommand) -> int:
    """Send the command to the run and print its effect."""
    affects = await send_command(place, await open_session(place), arguments.id, steering)
    if arguments.json:
        print_json({"id": arguments.id, "command": steering.name, "acknowledged": affects != LEFT, "effect": affects})
    else:
        print_note(f"run {arguments.id}: {affects}")
    return 0


async def send_command(place: ServerTarget, client: Client, run_id: str, steering: RunCommand) -> str:
    """Send a command to a run and return its effect; workflows of other types are cancelled by the server.

    Raises:
        CommandError: the run is finished, or refuses the command.
    """
    handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(run_id)
    record = await open_run(place, run_id, client)
    if not record.is_running:
        raise CommandError(f"run {run_id} is finished: `{PROGRAM} report {run_id}` shows its report")
    with explain_refusals(run_id):
        if record.workflow_type == AGENT_WORKFLOW:
            return await _send_update(handle, steering)
        if steering.name == "cancel" and record.workflow_type == BATCH_WORKFLOW:
            await handle.signal("cancel")
            return "It starts nothing more and stops its running steps."
        if steering.name == "cancel":
            await handle.cancel()
            return "It stops at its next step."
    raise UsageError(f"{run_id} is not a run but a {record.workflow_type}: it can only be cancelled")


async def _send_update(handle: WorkflowHandle[Any, Any], steering: RunCommand) -> str:
    """Return the effect that the run reports; without an answer in time the command is left as a signal.

    Raises:
        CommandError: the run refuses it.
    """
    try:
        answer: RunCommandReply = await asyncio.wait_for(
            handle.execute_update("steer", steering, result_type=RunCommandReply), QUERY_TIMEOUT.total_seconds()
        )
    except WorkflowUpdateFailedError as error:
        why = error.cause.message if isinstance(error.cause, FailureError) else str(error.cause)
        raise CommandError(f"run {handle.id} refuses: {truncate_line(why, 300)}") from error
    except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
        return await _send_signal(handle, steering)
    except RPCError as error:
        if error.status not in NO_ANSWER:
            raise
        return await _send_signal(handle, steering)
    return answer.effect


async def _send_signal(handle: WorkflowHandle[Any, Any], steering: RunCommand) -> str:
    """Leave a command as a signal; if the run has already received it, it is applied only once."""
    await handle.signal(steering.name, args=build_signal_input(steering))
    return LEFT


def build_signal_input(steering: RunCommand) -> list[Any]:
    """Return the input of the equivalent signal."""
    given: dict[str, Any] = {
        "feedback": {"text": steering.text, "topic": steering.topic},
        "answer": steering.text,
        "outline": [topic.model_dump() for topic in steering.outline],
        "budget": steering.budget.model_dump(exclude_none=True),
        "cancel": {"discard": True} if steering.discard else None,
    }
    value = given.get(steering.name)
    return [] if value is None else [value]
