"""Steering commands: `feedback`, `pause`, `resume`, `finish`, `cancel`, `outline`, `budget`, `approve` and `answer`."""

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tenure.cli.output import Output
from tenure.contracts.run.control import BudgetBounds, CommandName, OutlineTopic, RunCommand
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import truncate_line
from tenure.runs.run_ids import RunName
from tenure.runs.service import Service
from tenure.runs.steer import LEFT

MAX_FILE_BYTES = 1_000_000
"""Maximum size of an outline file."""

_TOPICS = TypeAdapter(tuple[OutlineTopic, ...])


async def send(service: Service, run: RunName, command: CommandName, output: Output) -> None:
    """Send a command without details."""
    await _send(service, run, RunCommand(name=command), output)


async def send_text(
    service: Service, run: RunName, command: CommandName, text: str, topic: str | None, output: Output
) -> None:
    """Send feedback or an answer."""
    await _send(service, run, RunCommand(name=command, text=text.strip(), topic=topic), output)


async def cancel(service: Service, run: RunName, discard: bool, output: Output) -> None:
    """Stop a run."""
    await _send(service, run, RunCommand(name="cancel", discard=discard), output)


async def set_outline(service: Service, run: RunName, file: Path, output: Output) -> None:
    """Set the topics of a run's report."""
    await _send(service, run, RunCommand(name="outline", outline=read_outline(file)), output)


async def set_budget(service: Service, run: RunName, bounds: BudgetBounds, output: Output) -> None:
    """Change what a run may use."""
    await _send(service, run, RunCommand(name="budget", budget=bounds), output)


async def _send(service: Service, run: str, command: RunCommand, output: Output) -> None:
    """Send a command to a run and print its effect."""
    effect = (await service.steer(run, command)).effect
    reply = {"id": run, "command": command.name, "acknowledged": effect != LEFT, "effect": effect}
    output.print_note(reply, f"run {run}: {effect}")


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
