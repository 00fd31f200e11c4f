"""Steering commands: `feedback`, `pause`, `resume`, `finish`, `cancel`, `outline`, `budget`, `approve` and `answer`."""

import asyncio
import json
from argparse import Namespace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tenure.cli.terminal import print_json, print_note
from tenure.contracts.run.control import BudgetBounds, OutlineTopic, RunCommand
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import truncate_line
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import (
    open_session,
)
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.runs.steer import LEFT, send_command
from tenure.settings import ClientSettings

MAX_FILE_BYTES = 1_000_000
"""Maximum size of an outline file."""

_TOPICS = TypeAdapter(tuple[OutlineTopic, ...])


def steer(arguments: Namespace, settings: ClientSettings) -> int:
    """Run a steering command; its name is the verb."""
    check_run(arguments.id)
    return asyncio.run(_send(arguments, locate_server(settings), parse_steering(arguments)))


def parse_steering(arguments: Namespace) -> RunCommand:
    """Return the steering command of the arguments.

    Raises:
        InvalidRequest: it is empty, or the outline file cannot be read.
    """
    verb = arguments.command
    text = getattr(arguments, "text", "").strip()
    if verb in ("feedback", "answer") and not text:
        raise InvalidRequest(f"{verb} needs a text")
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
        InvalidRequest: the file cannot be read or contains no outline.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidRequest(f"{path} is not an outline: it has more than {MAX_FILE_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
        listed = json.loads(text) if path.suffix == ".json" else _parse_lines(text)
        return _TOPICS.validate_python(listed)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {(error.strerror or 'it cannot be opened').lower()}") from error
    except ValidationError as error:
        raise InvalidRequest(f"{path} is not an outline: {error.errors()[0]['msg'].lower()}") from error
    except ValueError as error:
        raise InvalidRequest(f"{path} is not an outline: {truncate_line(str(error), 120)}") from error


def _parse_lines(text: str) -> list[str]:
    """Return the topics of a plain or Markdown list; comments begin with `#`."""
    lines = [line.strip().removeprefix("- ").removeprefix("* ").strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _budget(arguments: Namespace) -> BudgetBounds:
    budget = BudgetBounds(**{name: getattr(arguments, name) for name in BudgetBounds.model_fields})
    if budget == BudgetBounds():
        raise InvalidRequest("budget needs a bound, such as --max-tokens 200000 or --deadline 2h")
    return budget


async def _send(arguments: Namespace, place: ServerTarget, steering: RunCommand) -> int:
    """Send the command to the run and print its effect."""
    affects = await send_command(place, await open_session(place), arguments.id, steering)
    if arguments.json:
        print_json({"id": arguments.id, "command": steering.name, "acknowledged": affects != LEFT, "effect": affects})
    else:
        print_note(f"run {arguments.id}: {affects}")
    return 0
