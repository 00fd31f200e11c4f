"""Ask the questions of a file, each in a run of its own.

The id of a batch is derived from the content of its file. The same file therefore continues a running batch, and
retries the failed questions of a finished one.
"""

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy

from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.durations import parse_duration
from tenure.contracts.result.batch import ANSWERED_STATUSES, BatchItem, BatchOutcome, BatchReport, BatchRequest
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import BatchBody, derive_start
from tenure.runs.run_ids import check_run, slugify
from tenure.runs.session.connection import (
    BATCH_WORKFLOW,
    QUERY_TIMEOUT,
    Session,
    explain_ended_query,
    explain_refusals,
)
from tenure.runs.session.run_records import RunRecord, find_run
from tenure.runs.start import PlannedRun, find_reservation_price, plan_run, prepare_run
from tenure.settings import ClientSettings
from workflows.runtime.task_queues import TENURE_QUEUE

MAX_BATCH_BYTES = 200_000
"""Maximum size of a batch, which is sent as one message."""

MAX_LISTED_BATCHES = 50

_NAMES = {"id": "key", "max_cost": "max_cost_usd", "deadline": "max_seconds"}
"""Names of fields in files that differ from the contract."""

Batch = WorkflowHandle[Any, BatchReport]


@dataclass(frozen=True)
class PlannedBatch:
    """Checked batch that has not been started."""

    run: PlannedRun
    """Run with the conditions of all its runs; its id is that of the batch."""
    items: tuple[BatchItem, ...]
    """The questions."""
    parallel: int
    """Maximum number of concurrent runs."""


def plan_batch(file: Path, body: BatchBody, settings: ClientSettings) -> PlannedBatch:
    """Return the batch of a file after all checks that need no server.

    Raises:
        InvalidRequest: the file cannot be read, a line is invalid, or a value does not fit.
    """
    return plan_items(read_batch(file), file.stem, body, settings)


def plan_items(items: tuple[BatchItem, ...], name: str, body: BatchBody, settings: ClientSettings) -> PlannedBatch:
    """Return the batch of questions after all checks that need no server; by default its id begins with a name.

    Raises:
        InvalidRequest: a value does not fit.
    """
    planned = plan_run(derive_start(body, question=items[0].question), settings)
    if any(item.max_cost_usd for item in items):
        find_reservation_price(settings, limited=True)
    chosen = planned.id if planned.is_named else check_run(make_batch_id(name, items))
    return PlannedBatch(replace(planned, id=chosen), items, body.parallel)


async def start_batch(session: Session, planned: PlannedBatch) -> tuple[Batch, str]:
    """Start or continue a batch after the checks that need a connection.

    Raises:
        InvalidRequest: the id belongs to another kind of workflow, or a corpus does not exist.
    """
    # As the workflow of the batch names its runs.
    runs = [f"{planned.run.id}-{item.key}" for item in planned.items]
    return await start_or_continue(session, replace(planned, run=await prepare_run(session, planned.run, runs)))


async def start_or_continue(session: Session, planned: PlannedBatch) -> tuple[Batch, str]:
    """Start the batch, continue the running one, or retry the failed questions of a finished one.

    Returns:
        The batch, and a note about the earlier one, which is empty if there is none.

    Raises:
        InvalidRequest: the id belongs to another kind of workflow.
    """
    run = planned.run
    client = await session.connect()
    note = ""
    answered: tuple[BatchOutcome, ...] = ()
    with explain_refusals(run.id):
        earlier_run = await find_run(session, run.id)
        if earlier_run is not None:
            if earlier_run.workflow_type != BATCH_WORKFLOW:
                raise InvalidRequest(
                    f"the id {run.id} is in use by a {earlier_run.workflow_type}: choose another", "id"
                )
            if earlier_run.is_running:
                return get_batch(client, run.id), f"batch {run.id} is running: following it"
            before = await read_batch_report(session, earlier_run)
            answered = tuple(outcome for outcome in before.outcomes if outcome.status in ANSWERED_STATUSES)
            note = f"{format_count(len(answered), 'question')} of batch {run.id} answered before"
        request = BatchRequest(
            shared=run.request, items=planned.items, max_parallel=planned.parallel, earlier_outcomes=answered
        )
        started: Batch = await client.start_workflow(
            BATCH_WORKFLOW,
            request,
            id=run.id,
            task_queue=TENURE_QUEUE,
            result_type=BatchReport,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            static_summary=format_count(len(request.items), "question"),
            priority=run.priority,
        )
    return started, note


def get_batch(client: Client, batch_id: str) -> Batch:
    """Return the handle of a batch."""
    return client.get_workflow_handle(batch_id, result_type=BatchReport)


async def read_batch_report(session: Session, record: RunRecord) -> BatchReport:
    """Return the report of a completed batch, or the state of another one, which a worker knows.

    Raises:
        TenureError: it has ended without a report, or no worker answers.
    """
    if record.is_completed:
        return await record.read_result(BatchReport)
    if record.is_archived:
        raise TenureError(f"batch {record.id} has ended without a report; its runs are in `{PROGRAM} list`")
    handle = get_batch(await session.connect(), record.id)
    with explain_refusals(record.id), explain_ended_query(record.id, is_running=record.is_running):
        report: BatchReport = await handle.query("progress", result_type=BatchReport, rpc_timeout=QUERY_TIMEOUT)
    return report


def read_batch(path: Path) -> tuple[BatchItem, ...]:
    """Read the questions of a file: JSON lines, CSV with a column `question`, or one question per line.

    Raises:
        InvalidRequest: the file cannot be read, or a line is invalid.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} cannot be read: {truncate_line(str(error), 150)}") from error
    return parse_batch(path, text)


def parse_batch(path: Path, text: str) -> tuple[BatchItem, ...]:
    """Return the questions of a text in the format of a file name.

    Raises:
        InvalidRequest: a line is invalid.
    """
    items = [_parse_item(path, number, row) for number, row in _read_rows(path, text)]
    if not items:
        raise InvalidRequest(f"{path} contains no question")
    twice = [key for key, number in Counter(item.key for item in items).items() if number > 1]
    if twice:
        raise InvalidRequest(f"{path} has the id {twice[0]!r} twice: every question needs its own")
    if sum(len(item.model_dump_json()) for item in items) > MAX_BATCH_BYTES:
        raise InvalidRequest(f"{path} is too long for one batch, {format_count(len(items), 'question')}: split it")
    return tuple(items)


def make_batch_id(name: str, items: tuple[BatchItem, ...]) -> str:
    """Return the id of a batch, derived from its content."""
    digest = hashlib.sha256("\n".join(item.model_dump_json() for item in items).encode()).hexdigest()
    return f"batch-{slugify(name, 24)}-{digest[:8]}"


async def list_batches(session: Session) -> list[tuple[str, datetime, bool]]:
    """Return the ids of the latest batches with their starts, and whether they are running.

    Raises:
        TenureError: the server refuses.
    """
    client = await session.connect()
    with explain_refusals("batches"):
        found = client.list_workflows(f"WorkflowType = '{BATCH_WORKFLOW}'", limit=MAX_LISTED_BATCHES)
        return [(one.id, one.start_time, one.status == WorkflowExecutionStatus.RUNNING) async for one in found]


def _read_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the questions of a file with their line numbers."""
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
    """Parse a line of JSON: an object, or a question as a string."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InvalidRequest(f"{path}, line {number}: {truncate_line(str(error), 150)}") from error
    if isinstance(value, str):
        return {"question": value}
    if not isinstance(value, dict):
        raise InvalidRequest(f"{path}, line {number}: expected an object with a `question`")
    return value


def _parse_item(path: Path, number: int, row: dict[str, Any]) -> BatchItem:
    """Parse a line into a question of the batch."""
    names = {"question", "id", "max_tokens", "max_cost", "max_calls", "max_searches", "deadline"}
    if unknown := sorted(row.keys() - names):
        raise InvalidRequest(f"{path}, line {number}: {unknown[0]!r} is not one of {', '.join(sorted(names))}")
    fields = {_NAMES.get(name, name): value for name, value in row.items()}
    try:
        if "max_seconds" in fields:
            fields["max_seconds"] = parse_duration(str(fields["max_seconds"]))
        return BatchItem.model_validate({"key": f"{number:03}", **fields})
    except ValidationError as error:
        first = error.errors()[0]
        wrong = "id" if first["loc"][-1:] == ("key",) else first["loc"][-1] if first["loc"] else "the line"
        raise InvalidRequest(f"{path}, line {number}: {wrong}: {first['msg'].lower()}") from error
    except ValueError as error:
        raise InvalidRequest(f"{path}, line {number}: deadline {error}") from error
