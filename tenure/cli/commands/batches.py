"""`start --batch`: many questions out of a file, each in a run of its own, and a summary of what became of them.

The name of a batch is made from what its file says. So the same command goes on with a batch that runs, and asks
once more what failed in one that is over.
"""

import asyncio
import csv
import hashlib
import io
import json
from argparse import ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.table import Table
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
)
from temporalio.common import Priority, WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from tenure.cli.argument_types import length_of_time
from tenure.cli.delivery import UNPROVED
from tenure.cli.display import Display, display_for
from tenure.cli.errors import UsageError
from tenure.cli.formatting import counted, one_line
from tenure.cli.ownership import turn
from tenure.cli.run_ids import slug
from tenure.cli.session.connection import BATCH_WORKFLOW, NO_ANSWER, QUERY_TIMEOUT, explained
from tenure.cli.session.follow import follow_telling
from tenure.cli.session.monitor import is_lost
from tenure.cli.session.server_target import Place
from tenure.cli.terminal import print_json, print_table, say, stderr_console
from tenure.contracts.result.batch import ANSWERED, PROVED, BatchItem, BatchOutcome, BatchReport, BatchRequest
from workflows.runtime.task_queues import TENURE_QUEUE

PARALLEL = 4
"""Runs at the same time, where nothing else is said."""

MOST_BYTES = 200_000
"""Length of a batch: it travels as one message."""

LOOK_SECONDS = 1.0
"""Pause between two looks at a batch."""

_NAMES = {"id": "key", "max_cost": "max_cost_usd", "deadline": "max_seconds"}
"""Words of a file that are others in the contract."""

Batch = WorkflowHandle[Any, BatchReport]


def read_batch(path: Path) -> tuple[BatchItem, ...]:
    """Read the questions of a file: JSON lines, CSV with a heading `question`, or one question a line.

    Raises:
        UsageError: the file cannot be read, or a line of it cannot be understood.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error), 150)}") from error
    items = [_item(path, number, row) for number, row in _rows(path, text)]
    if not items:
        raise UsageError(f"{path} holds no question")
    twice = [key for key, number in Counter(item.key for item in items).items() if number > 1]
    if twice:
        raise UsageError(f"{path} has the id {twice[0]!r} twice: every question needs one of its own")
    if sum(len(item.model_dump_json()) for item in items) > MOST_BYTES:
        raise UsageError(f"{path} is too long for one batch, {counted(len(items), 'question')}: split it")
    return tuple(items)


def batch_id(path: Path, items: tuple[BatchItem, ...]) -> str:
    """Name a batch by what its file says."""
    digest = hashlib.sha256("\n".join(item.model_dump_json() for item in items).encode()).hexdigest()
    return f"batch-{slug(path.stem, 24)}-{digest[:8]}"


async def run_batch(arguments: Namespace, place: Place, client: Client, request: BatchRequest, chosen: str) -> int:
    """Start a batch or take up the one there is, see it to its end and print the summary."""
    with explained(chosen):
        handle = await _begun(client, request, chosen, turn(arguments))
    say(f"batch {chosen}" + (f", web UI: {place.url(chosen)}" if place.ui else ""))
    if not arguments.detach:
        return await see(arguments, place, client, handle)
    if arguments.json:
        print_json({"id": chosen, "url": place.url(chosen), "status": "running"})
    else:
        say(f"follow it with `python client.py watch {chosen}`")
    return 0


async def see(arguments: Namespace, place: Place, client: Client, handle: Batch) -> int:
    """Follow a batch to its end and print the summary."""
    with display_for(stderr_console()) as display:
        report = await follow_telling(client, place, handle, display, _tell(handle, display))
    if any(outcome.status not in ANSWERED for outcome in report.outcomes):
        say("what has no report is asked again by the same command")
    return summarise(arguments, handle.id, report)


async def show(arguments: Namespace, handle: Batch) -> int:
    """Print how a batch stands now; that was asked for, so having it is success."""
    report = await handle.query("progress", result_type=BatchReport, rpc_timeout=QUERY_TIMEOUT)
    summarise(arguments, handle.id, report)
    return 0


def summarise(arguments: Namespace, name: str, report: BatchReport) -> int:
    """Print how the questions of a batch stand, and return the exit code that stands for it."""
    if arguments.json:
        print_json({"id": name, **report.model_dump(mode="json")})
    else:
        print_table(_table(report.outcomes))
    statuses = {outcome.status for outcome in report.outcomes}
    if statuses <= PROVED:
        return 0
    return UNPROVED if statuses <= {*PROVED, "no_evidence", "failing_tests"} else 1


def of_handle(client: Client, name: str) -> Batch:
    """Return the handle of a batch."""
    return client.get_workflow_handle(name, result_type=BatchReport)


async def _begun(client: Client, request: BatchRequest, chosen: str, priority: Priority) -> Batch:
    """Start the batch, go on with the one that runs, or ask once more what one that is over has left.

    Raises:
        UsageError: the id belongs to something else.
    """
    handle = of_handle(client, chosen)
    found = await _found(handle)
    if found is not None:
        if found.workflow_type != BATCH_WORKFLOW:
            raise UsageError(f"the id {chosen} is in use by a {found.workflow_type}: choose another --id")
        if found.status == WorkflowExecutionStatus.RUNNING:
            say(f"batch {chosen} is at work: it is followed")
            return handle
        before: BatchReport = await handle.query("progress", result_type=BatchReport, rpc_timeout=QUERY_TIMEOUT)
        known = tuple(outcome for outcome in before.outcomes if outcome.status in ANSWERED)
        say(f"{counted(len(known), 'question')} of batch {chosen} answered before")
        request = request.model_copy(update={"known": known})
    started: Batch = await client.start_workflow(
        BATCH_WORKFLOW,
        request,
        id=chosen,
        task_queue=TENURE_QUEUE,
        result_type=BatchReport,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        static_summary=counted(len(request.items), "question"),
        priority=priority,
    )
    return started


async def _found(handle: Batch) -> WorkflowExecutionDescription | None:
    """Describe what has the id of a batch; None for nothing."""
    try:
        return await handle.describe()
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise


async def _tell(handle: Batch, display: Display) -> None:
    """Say what became of each question as soon as it is known."""
    told: set[str] = set()
    while True:
        report = await _look(handle)
        ended = [one for one in report.outcomes if one.status not in ("waiting", "running")] if report else []
        for one in ended:
            if report and one.key not in told:
                told.add(one.key)
                words = f"{one.run}: {one.status.replace('_', ' ')}, {one_line(one.question, 100)}"
                display.say(f"[{len(told)} of {len(report.outcomes)}] {words}")
        await asyncio.sleep(LOOK_SECONDS)


async def _look(handle: Batch) -> BatchReport | None:
    """Ask a batch how it stands; None where nobody answers now."""
    try:
        report: BatchReport = await handle.query("progress", result_type=BatchReport, rpc_timeout=QUERY_TIMEOUT)
    except WorkflowQueryFailedError:
        return None  # it has not taken its first step yet
    except RPCError as error:
        if is_lost(error) or error.status in NO_ANSWER:
            return None
        raise
    return report


def _rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the questions of a file with the numbers of their lines.

    Raises:
        UsageError: a line cannot be understood.
    """
    if path.suffix.lower() == ".csv":
        reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
        if "question" not in (reader.fieldnames or ()):
            raise UsageError(f"{path} has no column `question` in its first line")
        for row in reader:
            if None in row:
                raise UsageError(f"{path}, line {reader.line_num}: there are more fields than columns")
            yield reader.line_num, {name: value for name, value in row.items() if value}
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, _json(path, number, line) if _is_json(path) else {"question": line}


def _is_json(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".ndjson")


def _json(path: Path, number: int, line: str) -> dict[str, Any]:
    """Read a line of JSON: an object, or a question alone.

    Raises:
        UsageError: it is neither.
    """
    try:
        found = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{path}, line {number}: {one_line(str(error), 150)}") from error
    if isinstance(found, str):
        return {"question": found}
    if not isinstance(found, dict):
        raise UsageError(f"{path}, line {number}: an object with a `question` is needed")
    return found


def _item(path: Path, number: int, row: dict[str, Any]) -> BatchItem:
    """Turn a line into a question of the batch.

    Raises:
        UsageError: it says something that nobody understands.
    """
    known = {"question", "id", "max_tokens", "max_cost", "max_calls", "max_searches", "deadline"}
    if unknown := sorted(row.keys() - known):
        raise UsageError(f"{path}, line {number}: {unknown[0]!r} is none of {', '.join(sorted(known))}")
    fields = {_NAMES.get(name, name): value for name, value in row.items()}
    try:
        if "max_seconds" in fields:
            fields["max_seconds"] = length_of_time(str(fields["max_seconds"]))
        return BatchItem.model_validate({"key": f"{number:03}", **fields})
    except ArgumentTypeError as error:
        raise UsageError(f"{path}, line {number}: deadline {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        wrong = "id" if first["loc"][-1:] == ("key",) else first["loc"][-1] if first["loc"] else "the line"
        raise UsageError(f"{path}, line {number}: {wrong}: {first['msg'].lower()}") from error


def _table(outcomes: tuple[BatchOutcome, ...]) -> Table:
    """Set the summary as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("run", "status", "tokens", "USD", "seconds"):
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("run", "status") else "right")
    table.add_column("question", ratio=1, overflow="ellipsis", no_wrap=True)
    for one in outcomes:
        cost = "" if one.cost_usd is None else f"{one.cost_usd:.4f}"
        words = one_line(one.question, 120) + (f" ({one_line(one.note, 120)})" if one.note else "")
        status = one.status.replace("_", " ")
        table.add_row(one.run, status, f"{one.tokens:,}", cost, f"{one.seconds:.0f}", words)
    return table
