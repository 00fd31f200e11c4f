"""Inspect a running workflow: its progress, its ingestion, and whether a worker serves it."""

from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.run import RunProgress
from tenure.installation import PROGRAM
from tenure.runs.session.connection import EMBED_WORKFLOW
from tenure.runs.session.run_query import RunQuery
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.session.snapshot import RunSnapshot
from tenure.runs.session.versions import count_polling_workers
from tenure.temporal.stack import local
from workflows.runtime.task_queues import TENURE_QUEUE

INGESTION_ACTIVITIES = ("ingest_corpus", "embed_corpus", "embed_for_question")
"""Activities that ingest documents and report progress in the same format."""


async def read_snapshot(
    client: Client, handle: WorkflowHandle[Any, Any], query: RunQuery[RunProgress] | None = None
) -> RunSnapshot:
    """Return the state of a workflow, as far as it answers; without a query, it is not asked for progress.

    Raises:
        RPCError: the server does not answer, or the workflow does not exist.
    """
    description = await handle.describe()
    progress = await query.read(handle, description) if query else None
    seconds = (datetime.now(UTC) - description.start_time).total_seconds()
    return RunSnapshot(
        progress,
        await _ingestion(client, description),
        seconds,
        chunks_to_embed=await _count_chunks_to_embed(client, description),
    )


def build_progress_query() -> RunQuery[RunProgress]:
    """Return the query of the progress of runs."""
    return RunQuery("progress", RunProgress)


def describe_dead_process(server: ServerTarget) -> str:
    """Return a line that names the dead process of this home's stack, or an empty string."""
    notes = local.get_status(server.settings).notes if server.is_local else ()
    return notes[0] if notes else ""


async def describe_missing_worker(client: Client) -> str:
    """Return a line that says that no worker polls, or an empty string if one does.

    Raises:
        RPCError: the server does not answer.
    """
    if await count_polling_workers(client):
        return ""
    return f"no worker polls the task queue {TENURE_QUEUE!r}: start one with `{PROGRAM} up`"


async def is_starting(client: Client, server: ServerTarget) -> bool:
    """Return whether this home's worker is running but does not poll yet.

    Raises:
        RPCError: the server does not answer.
    """
    return server.is_local and not describe_dead_process(server) and not await count_polling_workers(client)


def is_lost(error: RPCError) -> bool:
    """Return whether an error says that the server is temporarily away."""
    return error.status in (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)


async def _count_chunks_to_embed(client: Client, description: WorkflowExecutionDescription) -> int:
    """Count the chunks that wait for the embedding workflows of a run; 0 if these have not reported yet."""
    remaining = 0
    for child in description.raw_description.pending_children:
        if child.workflow_type_name == EMBED_WORKFLOW:
            progress = await _ingestion(client, await client.get_workflow_handle(child.workflow_id).describe())
            remaining += max(progress.to_embed - progress.embedded, 0) if progress else 0
    return remaining


async def _ingestion(client: Client, description: WorkflowExecutionDescription) -> IngestProgress | None:
    """Read the ingestion's progress from the heartbeat of a pending activity; None before that of an embedding."""
    for activity in description.raw_description.pending_activities:
        if activity.activity_type.name in INGESTION_ACTIVITIES:
            payloads = activity.heartbeat_details.payloads
            if not payloads:
                return IngestProgress() if activity.activity_type.name == "ingest_corpus" else None
            details: list[IngestProgress] = await client.data_converter.decode(payloads, [IngestProgress])
            return details[0]
    return None
