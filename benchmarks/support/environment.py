"""Provide a Temporal server and workers for benchmarks."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tenure.temporal.converter import DATA_CONVERTER
from tests.conftest import SERVER_OPTIONS, temporal_binary
from worker import WORKFLOWS, create_workflow_runner
from workflows.runtime import search_attributes
from workflows.runtime.task_queues import TENURE_QUEUE


@asynccontextmanager
async def stage(methods: Mapping[str, list[Callable[..., Any]]], besides: Sequence[type] = ()) -> AsyncIterator[Client]:
    """Serve activities by their queues, all workflows and some besides, and yield a client that starts them."""
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=temporal_binary(),
        data_converter=DATA_CONVERTER,
        search_attributes=list(search_attributes.ALL),
        dev_server_extra_args=SERVER_OPTIONS,
        dev_server_log_level="error",
    ) as server:
        with ThreadPoolExecutor(8) as threads:
            async with AsyncExitStack() as running:
                for queue, served in methods.items():
                    worker = Worker(
                        server.client,
                        task_queue=queue,
                        workflows=[*WORKFLOWS, *besides] if queue == TENURE_QUEUE else [],
                        activities=served,
                        activity_executor=threads,
                        workflow_runner=create_workflow_runner(),
                    )
                    await running.enter_async_context(worker)
                yield server.client
