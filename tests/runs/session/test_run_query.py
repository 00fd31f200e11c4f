"""Test the queries of displays against a real server."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from temporalio import workflow
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    WorkflowHandle,
)
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner

from tenure.runs.session import run_query
from tenure.runs.session.run_query import RunQuery
from tests.support.waiting import wait_until
from tests.support.workers import PatientWorker


@workflow.defn
class Newsroom:
    """Workflow with news."""

    def __init__(self) -> None:
        self.news: list[str] = []

    @workflow.run
    async def run(self) -> None:
        """Wait for the last news."""
        await workflow.wait_condition(lambda: "end" in self.news)

    @workflow.signal
    def add(self, line: str) -> None:
        """Add a line."""
        self.news.append(line)

    @workflow.query
    def latest(self) -> list[str]:
        """Return all lines."""
        return self.news


class QueryCounter(Interceptor):
    """Counts the queries that leave a client."""

    def __init__(self) -> None:
        self.count = 0

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Count the queries of this client."""
        counter = self

        class Counted(OutboundInterceptor):
            async def query_workflow(self, input: QueryWorkflowInput) -> object:
                counter.count += 1
                return await super().query_workflow(input)

        return Counted(next)


@asynccontextmanager
async def newsroom(server: WorkflowEnvironment) -> AsyncIterator[tuple[WorkflowHandle[Newsroom, None], QueryCounter]]:
    """Run the workflow, and yield its handle with the count of its queries."""
    counter, queue = QueryCounter(), uuid.uuid4().hex
    config = server.client.config()
    config["interceptors"] = [counter]
    client = Client(**config)
    async with PatientWorker(
        server.client, task_queue=queue, workflows=[Newsroom], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        yield await client.start_workflow(Newsroom.run, id=queue, task_queue=queue), counter
        await client.get_workflow_handle(queue).signal("add", "end")


async def read(query: RunQuery[list[str]], handle: WorkflowHandle[Newsroom, None]) -> list[str] | None:
    """Look at the workflow once."""
    return await query.read(handle, await handle.describe())


async def read_until(query: RunQuery[list[str]], handle: WorkflowHandle[Newsroom, None], line: str) -> None:
    """Look until a line is known and its events are all in the history."""
    await wait_until(line, lambda: read(query, handle), lambda lines: line in (lines or ()))
    await wait_until(
        "no pending task",
        handle.describe,
        lambda described: not described.raw_description.HasField("pending_workflow_task"),
    )
    await read(query, handle)


async def test_workflow_without_news_is_queried_once(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at an unchanged history makes no query, news are read by one, and the answer is always the latest."""
    monkeypatch.setattr(run_query, "MIN_QUERY_SECONDS", 0.0)
    query = RunQuery("latest", list[str])
    async with newsroom(server) as (handle, counter):
        await handle.signal("add", "first")
        await read_until(query, handle, "first")
        known = counter.count
        assert [await read(query, handle) for _ in range(20)] == [["first"]] * 20
        assert counter.count == known

        await handle.signal("add", "second")
        await read_until(query, handle, "second")
        assert counter.count > known


async def test_burst_of_news_is_read_together(server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries of all displays of a process keep their distance."""
    monkeypatch.setattr(run_query, "MIN_QUERY_SECONDS", 3600.0)
    query = RunQuery("latest", list[str])
    async with newsroom(server) as (handle, counter):
        await wait_until("an answer", lambda: read(query, handle), lambda lines: lines is not None)
        for number in range(5):
            await handle.signal("add", str(number))
            await read(query, handle)

        assert counter.count == 1


async def test_silent_workflow_is_queried_again_after_a_time(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without news a query finds out that no worker answers any more."""
    monkeypatch.setattr(run_query, "MIN_QUERY_SECONDS", 0.0)
    query = RunQuery("latest", list[str])
    async with newsroom(server) as (handle, counter):
        await handle.signal("add", "only")
        await read_until(query, handle, "only")
        known = counter.count
        monkeypatch.setattr(run_query, "MIN_SILENCE_SECONDS", 0.0)
        monkeypatch.setattr(run_query, "MAX_SILENCE_SECONDS", 0.0)
        assert await read(query, handle) == ["only"]
        assert counter.count == known + 1
