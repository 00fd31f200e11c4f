"""Provide a Temporal server and workers for benchmarks."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from activities.archive import ArchiveActivities
from tenure.knowledge.runs import ArchivedRuns
from tenure.temporal.archive.archiver import RunArchiver
from tests.support.servers.temporal_server import run_temporal_server
from worker import collect_activities
from workflows.plugin import WORKFLOWS, choose_workflow_runner
from workflows.runtime.task_queues import TENURE_QUEUE


@asynccontextmanager
async def stage(
    methods: Mapping[str, list[Callable[..., Any]]], besides: Sequence[type] = (), archive: ArchivedRuns | None = None
) -> AsyncIterator[Client]:
    """Serve activities by their queues, all workflows and some besides, and yield a client that starts them.

    Whole runs need an archive.
    """
    async with run_temporal_server() as server:
        archiving = collect_activities(ArchiveActivities(RunArchiver(server.client, archive))) if archive else []
        with ThreadPoolExecutor(8) as threads:
            async with AsyncExitStack() as running:
                for queue, served in methods.items():
                    worker = Worker(
                        server.client,
                        task_queue=queue,
                        workflows=[*WORKFLOWS, *besides] if queue == TENURE_QUEUE else [],
                        activities=[*served, *archiving] if queue == TENURE_QUEUE else served,
                        activity_executor=threads,
                        workflow_runner=choose_workflow_runner(),
                    )
                    await running.enter_async_context(worker)
                yield server.client
