"""List runs: those of the server, and those that only the archive has."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.common import SearchAttributeKey
from temporalio.converter import DataConverter

from tenure.contracts.knowledge.archive import RunDescription
from tenure.runs.errors import TenureError, Unreachable
from tenure.runs.messages import RunFilter, RunLabel, RunList, RunRow
from tenure.runs.session.connection import (
    AGENT_WORKFLOW,
    Session,
    explain_refusals,
    register_search_attributes,
)
from tenure.runs.session.labels import read_labels
from tenure.runs.session.run_records import read_archive
from tenure.settings.home import ConnectionSettings, HomeSettings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError
from workflows.runtime.search_attributes import MODE, OWNER, PHASE, STATUS

MAX_LISTED = 1_000
"""Maximum number of runs that a search for words looks at."""

_ENDED_BADLY = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed_out",
    WorkflowExecutionStatus.CANCELED: "cancelled",
}
"""Ends that a workflow cannot write to its own search attributes."""

_MAX_QUERIED_IDS = 100
"""Ids in one query of the server."""


async def list_runs(session: Session, chosen: RunFilter) -> RunList:
    """Return the latest runs of the server, and those of the archive that the server does not have.

    Raises:
        Unreachable: the server does not answer, and no run is archived.
    """
    words = chosen.words.casefold().split()
    wanted = chosen.model_copy(update={"limit": MAX_LISTED}) if words else chosen
    listed, (labels, notes) = await asyncio.gather(_collect(session, wanted), _read_labels(session.settings))
    rows = [row.model_copy(update={"label": labels.get(row.id, row.label)}) for row in listed.runs]
    rows = [row for row in rows if all(word in _list_words(row) for word in words)]
    return RunList(runs=tuple(rows[: chosen.limit]), notes=(*listed.notes, *notes))


async def _read_labels(settings: ConnectionSettings) -> tuple[dict[str, RunLabel], tuple[str, ...]]:
    """Return the titles and tags of runs, and a note if they cannot be read."""
    try:
        return await read_labels(settings), ()
    except TenureError as error:
        return {}, (str(error),)


def _list_words(row: RunRow) -> str:
    """Return the words by which a run is found: "#physics" finds the tag alone."""
    return " ".join((row.id, row.question, row.label.title, *(f"#{tag}" for tag in row.label.tags))).casefold()


async def _collect(session: Session, chosen: RunFilter) -> RunList:
    reading = asyncio.create_task(_list_archived(chosen, session.settings))
    try:
        client = await session.connect()
    except Unreachable as error:
        archived, notes = await reading
        if not archived:
            raise Unreachable("; ".join((str(error), *notes))) from error
        rows = [await _describe_archived(run, make_data_converter(session.settings)) for run in archived]
        return RunList(runs=tuple(rows), notes=(*notes, f"only archived runs are listed: {error}"))
    if chosen.owner:
        await register_search_attributes(session)  # an older stack may not know it yet
    with explain_refusals("list"):
        rows = [
            await _describe_run(execution)
            async for execution in client.list_workflows(_build_query(chosen), limit=chosen.limit)
        ]
        present = {row.id for row in rows}
        archived, notes = await reading
        missing = [run for run in archived if run.id not in present]
        present |= await _list_present(client, [run.id for run in missing])
    archived_rows = [await _describe_archived(run, client.data_converter) for run in missing if run.id not in present]
    if archived_rows:
        rows = sorted((*rows, *archived_rows), key=lambda row: row.started, reverse=True)[: chosen.limit]
    return RunList(runs=tuple(rows), notes=notes)


async def _list_archived(chosen: RunFilter, settings: HomeSettings) -> tuple[list[RunDescription], tuple[str, ...]]:
    """Return the latest archived runs of a choice, each id once, and a note if they cannot be read."""
    try:
        archived: list[RunDescription] = await read_archive(
            settings,
            lambda archive: archive.list_archived_runs(settings, AGENT_WORKFLOW, chosen.owner, chosen.status),
            [],
        )
    except TenureError as error:
        return [], (f"no archived runs are listed: {error}",)
    return list({run.id: run for run in reversed(archived)}.values())[::-1][: chosen.limit], ()


async def _list_present(client: Client, ids: Sequence[str]) -> set[str]:
    """Return the ids of those runs that the server lists."""
    present: set[str] = set()
    for at in range(0, len(ids), _MAX_QUERIED_IDS):
        names = ", ".join(map(_quote, ids[at : at + _MAX_QUERIED_IDS]))
        query = f"WorkflowType = '{AGENT_WORKFLOW}' AND WorkflowId IN ({names})"
        present |= {execution.id async for execution in client.list_workflows(query)}
    return present


async def _describe_archived(run: RunDescription, converter: DataConverter) -> RunRow:
    """Return an archived run; its question is empty if it is encrypted for another owner."""
    try:
        (question,) = await converter.decode([Payload.FromString(run.question)], [str]) if run.question else [""]
    except DecryptionError:
        question = ""
    return RunRow(
        id=run.id,
        status=run.status,
        phase=run.phase,
        mode=run.mode,
        owner=run.owner,
        started=datetime.fromisoformat(run.started_at).isoformat(timespec="seconds"),
        archived=True,
        question=question,
    )


def _build_query(chosen: RunFilter) -> str:
    conditions = [f"WorkflowType = '{AGENT_WORKFLOW}'"]
    if chosen.owner:
        conditions.append(f"{OWNER.name} = {_quote(chosen.owner)}")
    if chosen.status:
        conditions.append(f"({_build_status_condition(chosen.status)})")
    return " AND ".join(conditions)


def _quote(text: str) -> str:
    """Return a text as a literal of the query language."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _build_status_condition(status: str) -> str:
    """Return the condition for a status; the server's status takes precedence over the run's search attribute."""
    own = f"({STATUS.name} = '{status}' AND ExecutionStatus IN ('Running', 'Completed'))"
    # `TIMED_OUT` is `TimedOut` in a query.
    ended = [end.name.title().replace("_", "") for end, words in _ENDED_BADLY.items() if words == status]
    return f"{own} OR ExecutionStatus = '{ended[0]}'" if ended else own


async def _describe_run(execution: WorkflowExecution) -> RunRow:
    """Return a run as the visibility store knows it."""
    status = _ENDED_BADLY.get(execution.status) if execution.status else None
    return RunRow(
        id=execution.id,
        status=status or _read_attribute(execution, STATUS) or "running",
        phase=_read_attribute(execution, PHASE),
        mode=_read_attribute(execution, MODE),
        owner=_read_attribute(execution, OWNER),
        started=execution.start_time.isoformat(timespec="seconds"),
        archived=False,
        question=await _read_question(execution),
    )


async def _read_question(execution: WorkflowExecution) -> str:
    """Return the question of a run; empty if it is encrypted for another owner."""
    try:
        return str(await execution.memo_value("question", "", type_hint=str))
    except DecryptionError:
        return ""


def _read_attribute(execution: WorkflowExecution, key: SearchAttributeKey[str]) -> str:
    """Return a search attribute, empty if the run has none."""
    return execution.typed_search_attributes.get(key) or ""
