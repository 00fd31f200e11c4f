"""Command `batch start`: ask the questions of a file, and print a summary of their runs."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

from temporalio.service import RPCError

from tenure.cli.command import CommandHome
from tenure.cli.commands.start import announce_run, print_other_base, suggest_models
from tenure.cli.delivery import UNPROVED
from tenure.cli.follow import follow_workflow
from tenure.cli.output import Output, print_rows
from tenure.cli.progress.display import ProgressDisplay
from tenure.cli.terminal import print_note
from tenure.contracts.result.batch import ANSWERED_STATUSES, STATUSES_WITH_REPORT, BatchReport
from tenure.runs.automation.batches import Batch, PlannedBatch, plan_batch, start_batch
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import BatchBody
from tenure.runs.service import Service
from tenure.runs.session.monitor import is_lost
from tenure.runs.session.run_query import RunQuery

POLL_SECONDS = 1.0
"""Pause between two polls of a batch."""


def start(home: CommandHome, file: Path, body: BatchBody, detach: bool, output: Output) -> Coroutine[None, None, int]:
    """Ask the questions of a file."""
    suggest_models(home.settings, output)
    planned = plan_batch(file, body, home.settings)
    for note in planned.run.notes:
        print_note(note)
    return _start(home.open(), planned, detach, output)


async def _start(service: Service, planned: PlannedBatch, detach: bool, output: Output) -> int:
    """Start or continue a batch, and follow it to its end unless the command is detached."""
    await print_other_base(service)
    batch, note = await start_batch(service, planned)
    if note:
        print_note(note)
    announce_run(service, batch.id, output, detach=detach, kind="batch")
    return 0 if detach else await follow_batch(service, batch, output)


async def follow_batch(service: Service, batch: Batch, output: Output) -> int:
    """Follow a batch to its end, print the summary, and return the exit code for it."""
    report = await follow_workflow(
        service, batch, output.verbosity, reporter=lambda display: _report_changes(batch, display)
    )
    if any(outcome.status not in ANSWERED_STATUSES for outcome in report.outcomes):
        print_note("run the same command again to retry questions without a report")
    return print_summary(batch.id, report, output)


def print_summary(name: str, report: BatchReport, output: Output) -> int:
    """Print the state of a batch's questions, and return the exit code for it."""
    if not output.print_json({"id": name, **report.model_dump(mode="json")}):
        numbers = ("tokens", "USD", "seconds")
        print_rows(
            ("run", "status", *numbers, "question"),
            (
                (
                    row.run,
                    row.status.replace("_", " "),
                    f"{row.tokens:,}",
                    "" if row.cost_usd is None else f"{row.cost_usd:.4f}",
                    f"{row.seconds:.0f}",
                    truncate_line(row.question, 120) + (f" ({truncate_line(row.note, 120)})" if row.note else ""),
                )
                for row in report.outcomes
            ),
            numbers=numbers,
            cut="question",
        )
    statuses = {outcome.status for outcome in report.outcomes}
    if statuses <= STATUSES_WITH_REPORT:
        return 0
    return UNPROVED if statuses <= {*STATUSES_WITH_REPORT, "no_evidence", "failing_tests"} else 1


async def _report_changes(batch: Batch, display: ProgressDisplay) -> None:
    """Print the outcome of each question as soon as it is known."""
    reported: set[str] = set()
    query = RunQuery("progress", BatchReport)
    while True:
        report = await _query_status(batch, query)
        for outcome in report.outcomes if report else ():
            if report and outcome.status not in ("waiting", "running") and outcome.key not in reported:
                reported.add(outcome.key)
                words = f"{outcome.run}: {outcome.status.replace('_', ' ')}, {truncate_line(outcome.question, 100)}"
                display.report(f"[{len(reported)} of {len(report.outcomes)}] {words}")
        await asyncio.sleep(POLL_SECONDS)


async def _query_status(batch: Batch, query: RunQuery[BatchReport]) -> BatchReport | None:
    """Return the state of a batch, or None if neither the server nor a worker answers."""
    try:
        return await query.read(batch, await batch.describe())
    except RPCError as error:
        if is_lost(error):
            return None
        raise
