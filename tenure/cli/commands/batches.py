"""Command `start --batch`: ask the questions of a file, each in a run of its own, and print a summary.

The id of a batch is derived from the content of its file. The same command therefore continues a running batch, and
retries the failed questions of a finished one.
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
    WorkflowHandle,
)
from temporalio.common import Priority, WorkflowIDConflictPolicy
from temporalio.service import RPCError

from tenure.cli.argument_types import parse_duration
from tenure.cli.delivery import UNPROVED
from tenure.cli.follow import follow_with_reports
from tenure.cli.progress.display import ProgressDisplay, choose_display
from tenure.cli.terminal import make_stderr_console, print_json, print_note, print_status, print_table
from tenure.contracts.result.batch import (
    ANSWERED_STATUSES,
    STATUSES_WITH_REPORT,
    BatchItem,
    BatchOutcome,
    BatchReport,
    BatchRequest,
)
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.formatting import format_count, truncate_line
from tenure.runs.run_ids import slugify
from tenure.runs.session.connection import (
    BATCH_WORKFLOW,
    QUERY_TIMEOUT,
    explain_ended_query,
    explain_refusals,
    open_session,
)
from tenure.runs.session.monitor import is_lost
from tenure.runs.session.run_query import RunQuery
from tenure.runs.session.run_records import RunRecord, find_run
from tenure.runs.session.server_target import ServerTarget
from workflows.runtime.task_queues import TENURE_QUEUE

DEFAULT_PARALLEL_RUNS = 4
"""Default number of concurrent runs."""

MAX_BATCH_BYTES = 200_000
"""Maximum size of a batch, which is sent as one message."""

POLL_SECONDS = 1.0
"""Pause between two polls of a batch."""

_NAMES = {"id": "key", "max_cost": "max_cost_usd", "deadline": "max_seconds"}
"""Names of fields in files that differ from the contract."""

Batch = WorkflowHandle[Any, BatchReport]


def read_batch(path: Path) -> tuple[BatchItem, ...]:
    """Read the questions of a file: JSON lines, CSV with a column `question`, or one question per line.

    Raises:
        InvalidRequest: the file cannot be read, or a line is invalid.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} cannot be read: {truncate_line(str(error), 150)}") from error
    items = [_parse_item(path, number, row) for number, row in _read_rows(path, text)]
    if not items:
        raise InvalidRequest(f"{path} contains no question")
    twice = [key for key, number in Counter(item.key for item in items).items() if number > 1]
    if twice:
        raise InvalidRequest(f"{path} has the id {twice[0]!r} twice: every question needs its own")
    if sum(len(item.model_dump_json()) for item in items) > MAX_BATCH_BYTES:
        raise InvalidRequest(f"{path} is too long for one batch, {format_count(len(items), 'question')}: split it")
    return tuple(items)


def make_batch_id(path: Path, items: tuple[BatchItem, ...]) -> str:
    """Return the id of a batch, derived from its content."""
    digest = hashlib.sha256("\n".join(item.model_dump_json() for item in items).encode()).hexdigest()
    return f"batch-{slugify(path.stem, 24)}-{digest[:8]}"


async def run_batch(
    arguments: Namespace,
    place: ServerTarget,
    client: Client,
    request: BatchRequest,
    chosen: str,
    priority: Priority,
) -> int:
    """Start or continue a batch, follow it to its end and print the summary."""
    with explain_refusals(chosen):
        handle = await _start_or_continue(client, place, request, chosen, priority)
    link = f", web UI: {place.build_run_link(chosen)}" if place.ui else ""
    print_status(f"batch {chosen}{link}", arguments.verbosity)
    if not arguments.detach:
        return await follow_batch(arguments, place, client, handle)
    if arguments.json:
        print_json({"id": chosen, "url": place.build_run_link(chosen), "status": "running"})
    else:
        print_status(f"follow it with `{PROGRAM} watch {chosen}`", arguments.verbosity)
    return 0


async def follow_batch(arguments: Namespace, place: ServerTarget, client: Client, handle: Batch) -> int:
    """Follow a batch to its end and print the summary."""
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        report = await follow_with_reports(client, place, handle, display, _report_changes(handle, display))
    if any(outcome.status not in ANSWERED_STATUSES for outcome in report.outcomes):
        print_note("run the same command again to retry questions without a report")
    return print_summary(arguments, handle.id, report)


async def show_batch(arguments: Namespace, place: ServerTarget, record: RunRecord) -> int:
    """Print the state of a batch; the exit code is that of the query, not of the batch."""
    print_summary(arguments, record.id, await _read_report(place, record))
    return 0


async def _read_report(place: ServerTarget, record: RunRecord) -> BatchReport:
    """Return the report of a completed batch, or the state of another one, which a worker knows."""
    if record.is_completed:
        return await record.read_result(BatchReport)
    if record.is_archived:
        raise TenureError(f"batch {record.id} has ended without a report; its runs are in `{PROGRAM} list`")
    handle = get_batch_handle(await open_session(place), record.id)
    with explain_refusals(record.id), explain_ended_query(record.id, is_running=record.is_running):
        report: BatchReport = await handle.query("progress", result_type=BatchReport, rpc_timeout=QUERY_TIMEOUT)
    return report


def print_summary(arguments: Namespace, name: str, report: BatchReport) -> int:
    """Print the state of a batch's questions, and return the exit code for it."""
    if arguments.json:
        print_json({"id": name, **report.model_dump(mode="json")})
    else:
        print_table(_build_table(report.outcomes))
    statuses = {outcome.status for outcome in report.outcomes}
    if statuses <= STATUSES_WITH_REPORT:
        return 0
    return UNPROVED if statuses <= {*STATUSES_WITH_REPORT, "no_evidence", "failing_tests"} else 1


def get_batch_handle(client: Client, name: str) -> Batch:
    """Return the handle of a batch."""
    return client.get_workflow_handle(name, result_type=BatchReport)


async def _start_or_continue(
    client: Client, place: ServerTarget, request: BatchRequest, chosen: str, priority: Priority
) -> Batch:
    """Start the batch, continue the running one, or retry the failed questions of a finished one.

    Raises:
        InvalidRequest: the id belongs to another kind of workflow.
    """
    found = await find_run(place, chosen, client)
    if found is not None:
        if found.workflow_type != BATCH_WORKFLOW:
            raise InvalidRequest(f"the id {chosen} is in use by a {found.workflow_type}: choose another --id")
        if found.is_running:
            print_note(f"batch {chosen} is running: following it")
            return get_batch_handle(client, chosen)
        before = await _read_report(place, found)
        known = tuple(outcome for outcome in before.outcomes if outcome.status in ANSWERED_STATUSES)
        print_note(f"{format_count(len(known), 'question')} of batch {chosen} answered before")
        request = request.model_copy(update={"earlier_outcomes": known})
    started: Batch = await client.start_workflow(
        BATCH_WORKFLOW,
        request,
        id=chosen,
        task_queue=TENURE_QUEUE,
        result_type=BatchReport,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        static_summary=format_count(len(request.items), "question"),
        priority=priority,
    )
    return started


async def _report_changes(handle: Batch, display: ProgressDisplay) -> None:
    """Print the outcome of each question as soon as it is known."""
    reported: set[str] = set()
    query = RunQuery("progress", BatchReport)
    while True:
        report = await _query_status(handle, query)
        ended = [one for one in report.outcomes if one.status not in ("waiting", "running")] if report else []
        for one in ended:
            if report and one.key not in reported:
                reported.add(one.key)
                words = f"{one.run}: {one.status.replace('_', ' ')}, {truncate_line(one.question, 100)}"
                display.report(f"[{len(reported)} of {len(report.outcomes)}] {words}")
        await asyncio.sleep(POLL_SECONDS)


async def _query_status(handle: Batch, query: RunQuery[BatchReport]) -> BatchReport | None:
    """Return the state of a batch, or None if neither the server nor a worker answers."""
    try:
        return await query.read(handle, await handle.describe())
    except RPCError as error:
        if is_lost(error):
            return None
        raise


def _read_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the questions of a file with their line numbers.

    Raises:
        InvalidRequest: a line is invalid.
    """
    if path.suffix.lower() == ".csv":
        reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
        if "question" not in (reader.fieldnames or ()):
            raise InvalidRequest(f"{path} has no column `question` in its first line")
        for row in reader:
            if None in row:
                raise InvalidRequest(f"{path}, line {reader.line_num}: there are more fields than columns")
            yield reader.line_num, {name: value for name, value in row.items() if value}
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, _parse_json_line(path, number, line) if _is_json(path) else {"question": line}


def _is_json(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".ndjson")


def _parse_json_line(path: Path, number: int, line: str) -> dict[str, Any]:
    """Parse a line of JSON: an object, or a question as a string.

    Raises:
        InvalidRequest: it is neither.
    """
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidRequest(f"{path}, line {number}: {truncate_line(str(error), 150)}") from error
    if isinstance(found, str):
        return {"question": found}
    if not isinstance(found, dict):
        raise InvalidRequest(f"{path}, line {number}: expected an object with a `question`")
    return found


def _parse_item(path: Path, number: int, row: dict[str, Any]) -> BatchItem:
    """Parse a line into a question of the batch.

    Raises:
        InvalidRequest: it has an unknown or invalid field.
    """
    known = {"question", "id", "max_tokens", "max_cost", "max_calls", "max_searches", "deadline"}
    if unknown := sorted(row.keys() - known):
        raise InvalidRequest(f"{path}, line {number}: {unknown[0]!r} is not one of {', '.join(sorted(known))}")
    fields = {_NAMES.get(name, name): value for name, value in row.items()}
    try:
        if "max_seconds" in fields:
            fields["max_seconds"] = parse_duration(str(fields["max_seconds"]))
        return BatchItem.model_validate({"key": f"{number:03}", **fields})
    except ArgumentTypeError as error:
        raise InvalidRequest(f"{path}, line {number}: deadline {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        wrong = "id" if first["loc"][-1:] == ("key",) else first["loc"][-1] if first["loc"] else "the line"
        raise InvalidRequest(f"{path}, line {number}: {wrong}: {first['msg'].lower()}") from error


def _build_table(outcomes: tuple[BatchOutcome, ...]) -> Table:
    """Return the summary as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("run", "status", "tokens", "USD", "seconds"):
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("run", "status") else "right")
    table.add_column("question", ratio=1, overflow="ellipsis", no_wrap=True)
    for one in outcomes:
        cost = "" if one.cost_usd is None else f"{one.cost_usd:.4f}"
        words = truncate_line(one.question, 120) + (f" ({truncate_line(one.note, 120)})" if one.note else "")
        status = one.status.replace("_", " ")
        table.add_row(one.run, status, f"{one.tokens:,}", cost, f"{one.seconds:.0f}", words)
    return table
