"""Test that searches of the same moment are executed by one activity."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import WorkflowHandle
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import (
    FailedSearch,
    PassageRef,
    SearchBatchReply,
    SearchReply,
    SearchRequest,
)
from tests.histories.recorder import wait_for_event
from tests.support.workers import PatientWorker
from workflows.plugin import create_workflow_runner
from workflows.runtime.failures import describe_failure
from workflows.runtime.knowledge_client import SearchBatches
from workflows.runtime.optional_step import run_optional_step
from workflows.runtime.task_queues import SEARCH_QUEUE

REFUSED, LOST = "refused", "lost"


@workflow.defn(sandboxed=False)
class Searching:
    """Makes searches at several moments, and returns what each of them has found."""

    def __init__(self) -> None:
        self.batches = SearchBatches()
        self.tasks: dict[str, asyncio.Task[str]] = {}

    @workflow.run
    async def run(self, moments: list[list[str]]) -> list[str]:
        """Make the searches of each moment concurrently; those of a step of ten minutes begin with `step`.

        A search comes later by other coroutines for each exclamation mark that ends it.
        """
        found: list[str] = []
        for queries in moments:
            self.tasks = {query: asyncio.create_task(self._search(query)) for query in queries}
            found += await asyncio.gather(*self.tasks.values())
        return found

    @workflow.signal
    def cancel(self, query: str) -> None:
        """Cancel a search."""
        self.tasks[query].cancel()

    async def _search(self, query: str) -> str:
        for _ in range(query.count("!")):
            await workflow.wait_condition(lambda: True)
        request = SearchRequest(query=query, corpora=("c",))
        searching = self.batches.search(request)
        if query.startswith("step"):
            searching = run_optional_step(searching, SearchReply(passages=()), "failed", print, timedelta(minutes=10))
        try:
            reply = await searching
        except ActivityError as error:
            return describe_failure(error)
        except asyncio.CancelledError:
            return "cancelled"
        return "".join(passage.chunk for passage in reply.passages)


@activity.defn
async def search_passages(searches: tuple[SearchRequest, ...]) -> SearchBatchReply:
    """Find a passage that is named like the query; fail for `refused`, and altogether for `lost`."""
    queries = [search.query for search in searches]
    if LOST in queries:
        raise ApplicationError("the store is lost", non_retryable=True)
    return SearchBatchReply(replies=tuple(_reply(query) for query in queries))


def _reply(query: str) -> SearchReply | FailedSearch:
    if query == REFUSED:
        return FailedSearch(type="KnowledgeRefused", message="it is refused")
    passage = PassageRef(chunk=ChunkId(query), source=SourceId("s"), score=1.0, relevance=1.0)
    return SearchReply(passages=(passage,))


@asynccontextmanager
async def searching(
    server: WorkflowEnvironment, moments: Sequence[Sequence[str]], activity: Any = search_passages
) -> AsyncIterator[WorkflowHandle[Any, list[str]]]:
    """Start the workflow with these searches."""
    queue = f"searches-{uuid.uuid4().hex[:8]}"
    runner = create_workflow_runner()
    async with (
        PatientWorker(server.client, task_queue=queue, workflows=[Searching], workflow_runner=runner),
        PatientWorker(server.client, task_queue=SEARCH_QUEUE, activities=[activity]),
    ):
        yield await server.client.start_workflow(Searching.run, [*map(list, moments)], id=queue, task_queue=queue)


async def list_batches(server: WorkflowEnvironment, handle: WorkflowHandle[Any, Any]) -> list[list[str]]:
    """Return the queries of each activity."""
    batches: list[list[str]] = []
    async for event in handle.fetch_history_events():
        if event.HasField("activity_task_scheduled_event_attributes"):
            given = event.activity_task_scheduled_event_attributes.input.payloads
            (searches,) = await server.client.data_converter.decode(given, [tuple[SearchRequest, ...]])
            batches.append([search.query for search in searches])
    return batches


async def test_searches_of_one_moment_are_one_activity(server: WorkflowEnvironment) -> None:
    """A search that other coroutines make before the workflow waits belongs to the batch; a later one does not."""
    async with searching(server, [["a", "b!", "c!!"], ["d"]]) as handle:
        assert await handle.result() == ["a", "b!", "c!!", "d"]

    assert await list_batches(server, handle) == [["a", "b!", "c!!"], ["d"]]


async def test_a_failed_search_loses_only_its_own_result(server: WorkflowEnvironment) -> None:
    """The coroutine of the failed search gets its reason as the error of an activity, the others their passages."""
    async with searching(server, [["a", REFUSED, "c"]]) as handle:
        assert await handle.result() == ["a", "it is refused", "c"]


async def test_a_failed_batch_fails_each_of_its_searches(server: WorkflowEnvironment) -> None:
    """All coroutines get the error of the activity, and the next search is made."""
    async with searching(server, [["a", LOST], ["c"]]) as handle:
        assert await handle.result() == ["the store is lost", "the store is lost", "c"]


async def test_searches_of_an_optional_step_have_its_limit(server: WorkflowEnvironment) -> None:
    """Searches of steps with different limits are executed by different activities."""
    async with searching(server, [["a", "step a", "b", "step b"]]) as handle:
        assert await handle.result() == ["a", "step a", "b", "step b"]

    assert await list_batches(server, handle) == [["a", "b"], ["step a", "step b"]]
    limits = [
        event.activity_task_scheduled_event_attributes.schedule_to_close_timeout.seconds
        async for event in handle.fetch_history_events()
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    assert limits == [0, 600]


async def test_a_batch_is_cancelled_with_its_last_search(server: WorkflowEnvironment) -> None:
    """One search can be cancelled while the others continue; without any, the activity is cancelled."""
    ended = asyncio.Event()

    @activity.defn(name="search_passages")
    async def search_until_told(searches: tuple[SearchRequest, ...]) -> SearchBatchReply:
        if searches[0].query != "c":
            await ended.wait()
        return await search_passages(searches)

    async with searching(server, [["a", "b"], ["c"]], search_until_told) as handle:
        await wait_for_event(handle, lambda event: event.HasField("activity_task_scheduled_event_attributes"))
        await handle.signal(Searching.cancel, "a")
        await handle.signal(Searching.cancel, "b")
        assert await handle.result() == ["cancelled", "cancelled", "c"]
        ended.set()

    async for event in handle.fetch_history_events():
        if event.HasField("activity_task_cancel_requested_event_attributes"):
            break
    else:
        raise AssertionError("the activity was not cancelled")


async def test_a_batch_continues_for_the_searches_that_are_left(server: WorkflowEnvironment) -> None:
    """A cancelled search does not end the activity that others wait for."""
    cancelled = asyncio.Event()

    @activity.defn(name="search_passages")
    async def search_when_told(searches: tuple[SearchRequest, ...]) -> SearchBatchReply:
        await cancelled.wait()
        return await search_passages(searches)

    async with searching(server, [["a", "b"]], search_when_told) as handle:
        await wait_for_event(handle, lambda event: event.HasField("activity_task_scheduled_event_attributes"))
        await handle.signal(Searching.cancel, "a")
        await wait_for_event(handle, lambda event: event.HasField("workflow_execution_signaled_event_attributes"))
        cancelled.set()
        assert await handle.result() == ["cancelled", "b"]
