"""`feedback`, `pause`, `resume`, `finish`, `cancel`, `outline`, `budget`, `approve` and `answer`: words to a run.

The run itself checks a word and says what it will change. Where no worker is there to ask it, the word is left with
the server as a signal: it is followed, or refused in the report, as soon as a worker runs again.
"""

import asyncio
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import FailureError
from temporalio.service import RPCError

from tenure.cli.errors import CommandError, UsageError
from tenure.cli.formatting import one_line
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import (
    AGENT_WORKFLOW,
    BATCH_WORKFLOW,
    NO_ANSWER,
    QUERY_TIMEOUT,
    explained,
    open_session,
)
from tenure.cli.session.server_target import Place, locate
from tenure.cli.terminal import print_json, say
from tenure.contracts.run.control import Acknowledged, Budget, OutlineTopic, Steering
from tenure.settings import Settings

MOST_FILE = 1_000_000
"""Bytes of an outline's file; one that is larger is none."""

LEFT = "No worker answered; it is kept and followed as soon as one runs."

_TOPICS = TypeAdapter(tuple[OutlineTopic, ...])


def steer(arguments: Namespace, settings: Settings) -> int:
    """Run a steering command; its name is the verb."""
    check_run(arguments.id)
    return asyncio.run(_steer(arguments, locate(settings), steering_of(arguments)))


def steering_of(arguments: Namespace) -> Steering:
    """Return what a command line says to a run.

    Raises:
        UsageError: it says nothing, or the file of an outline cannot be read.
    """
    verb = arguments.command
    text = getattr(arguments, "text", "").strip()
    if verb in ("feedback", "answer") and not text:
        raise UsageError(f"{verb} needs a text")
    return Steering(
        verb=verb,
        text=text,
        topic=getattr(arguments, "topic", None),
        outline=read_outline(arguments.set) if verb == "outline" else (),
        budget=_budget(arguments) if verb == "budget" else Budget(),
        discard=getattr(arguments, "discard", False),
    )


def read_outline(path: Path) -> tuple[OutlineTopic, ...]:
    """Read the topics of a file: a JSON list, or a topic a line.

    Raises:
        UsageError: it cannot be read, or holds no outline.
    """
    try:
        if path.stat().st_size > MOST_FILE:
            raise UsageError(f"{path} is no outline: it has more than {MOST_FILE:,} bytes")
        text = path.read_text(encoding="utf-8")
        listed = json.loads(text) if path.suffix == ".json" else _lines(text)
        return _TOPICS.validate_python(listed)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or 'it cannot be opened').lower()}") from error
    except ValidationError as error:
        raise UsageError(f"{path} is no outline: {error.errors()[0]['msg'].lower()}") from error
    except ValueError as error:
        raise UsageError(f"{path} is no outline: {one_line(str(error), 120)}") from error


def _lines(text: str) -> list[str]:
    """Return the topics of a plain list, marked as in Markdown or not; comments begin with `#`."""
    lines = [line.strip().removeprefix("- ").removeprefix("* ").strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _budget(arguments: Namespace) -> Budget:
    budget = Budget(**{name: getattr(arguments, name) for name in Budget.model_fields})
    if budget == Budget():
        raise UsageError("budget needs a bound, such as --max-tokens 200000 or --deadline 2h")
    return budget


async def _steer(arguments: Namespace, place: Place, steering: Steering) -> int:
    """Speak to the run; a workflow that is none is cancelled by the server instead."""
    client = await open_session(place)
    handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(arguments.id)
    with explained(arguments.id):
        description = await handle.describe()
        if description.status != WorkflowExecutionStatus.RUNNING:
            raise CommandError(
                f"run {arguments.id} is finished: `python client.py report {arguments.id}` shows what it found"
            )
        if description.workflow_type == AGENT_WORKFLOW:
            affects = await _told(handle, steering)
        elif steering.verb == "cancel" and description.workflow_type == BATCH_WORKFLOW:
            await handle.signal("cancel")
            affects = "It begins nothing more, and stops what it has begun."
        elif steering.verb == "cancel":
            await handle.cancel()
            affects = "It stops as soon as it notices."
        else:
            raise UsageError(f"{arguments.id} is no run but a {description.workflow_type}: it can only be cancelled")
    if arguments.json:
        print_json({"id": arguments.id, "verb": steering.verb, "acknowledged": affects != LEFT, "affects": affects})
    else:
        say(f"run {arguments.id}: {affects}")
    return 0


async def _told(handle: WorkflowHandle[Any, Any], steering: Steering) -> str:
    """Return what the run says that a word will change; a word that nobody answers in time is left as a signal.

    Raises:
        CommandError: the run refuses it.
    """
    try:
        answer: Acknowledged = await asyncio.wait_for(
            handle.execute_update("steer", steering, result_type=Acknowledged), QUERY_TIMEOUT.total_seconds()
        )
    except WorkflowUpdateFailedError as error:
        why = error.cause.message if isinstance(error.cause, FailureError) else str(error.cause)
        raise CommandError(f"run {handle.id} refuses: {one_line(why, 300)}") from error
    except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
        return await _left(handle, steering)
    except RPCError as error:
        if error.status not in NO_ANSWER:
            raise
        return await _left(handle, steering)
    return answer.affects


async def _left(handle: WorkflowHandle[Any, Any], steering: Steering) -> str:
    """Leave a word as a signal; one that was heard in the meantime is followed once all the same."""
    await handle.signal(steering.verb, args=signal_of(steering))
    return LEFT


def signal_of(steering: Steering) -> list[Any]:
    """Return the input of the signal that says the same."""
    given: dict[str, Any] = {
        "feedback": {"text": steering.text, "topic": steering.topic},
        "answer": steering.text,
        "outline": [topic.model_dump() for topic in steering.outline],
        "budget": steering.budget.model_dump(exclude_none=True),
        "cancel": {"discard": True} if steering.discard else None,
    }
    value = given.get(steering.verb)
    return [] if value is None else [value]
