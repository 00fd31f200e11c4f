"""Test that a stopped run closes its model connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle

from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.openai.chat import OpenAIChat
from tests.conftest import Serving
from tests.model_server import ModelServer
from tests.models.routes import routes
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS, wait_until
from tests.support.worlds import KITCHEN, MemoryKnowledge

Handle = WorkflowHandle[Any, Result]

REQUEST = RunRequest(
    question="How are bread and cheese made?",
    corpora=("kitchen",),
    limits=RunLimits(min_relevance=0.0),
)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A server of the models that plans two sections."""
    with ModelServer() as server:
        topics = [{"heading": name, "question": f"How is {name} made?"} for name in ("Bread", "Cheese")]
        server.on("outliner", {"topics": topics})
        yield server


@pytest.fixture
async def chat(model: ModelServer) -> AsyncIterator[OpenAIChat]:
    """The back-end under test."""
    made = OpenAIChat(routes("m"), base_url=model.base_url)
    yield made
    await made.aclose()


async def signalled(handle: Handle) -> None:
    """Cancel as `client.py cancel` does."""
    await handle.signal("cancel")


async def cancelled(handle: Handle) -> None:
    """Cancel as the web UI does."""
    await handle.cancel()


async def terminated(handle: Handle) -> None:
    """End without asking."""
    await handle.terminate()


@slow
@pytest.mark.parametrize("role", ["router", "report_writer"])
@pytest.mark.parametrize("stop", [signalled, cancelled, terminated])
async def test_a_stopped_run_hangs_up(
    serving: Serving, model: ModelServer, chat: OpenAIChat, stop: Callable[[Handle], Awaitable[None]], role: str
) -> None:
    """However a run is stopped, the server sees its connections closed while it still holds the answers back."""
    async with serving(chat, MemoryKnowledge(dict(KITCHEN))) as stage:
        with model.hold(role) as gate:
            handle = await stage.start(REQUEST)
            assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
            await stop(handle)
            await wait_until("closed connections", lambda: not model.in_flight)
        try:
            status = (await handle.result()).status
        except WorkflowFailureError:
            status = None

    assert {request.schema_name for request in model.abandoned} == {role}
    assert len(model.requests_of(role)) == len(model.abandoned)
    assert status == ("cancelled" if stop is signalled else None)


@slow
async def test_a_stopped_run_hangs_up_in_the_middle_of_a_stream(
    serving: Serving, model: ModelServer, chat: OpenAIChat
) -> None:
    """An answer that is coming in is given up as well, and the rest of it is never made."""
    async with serving(chat, MemoryKnowledge(dict(KITCHEN))) as stage:
        with model.hold("report_writer", after_events=2) as gate:
            handle = await stage.start(REQUEST)
            assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
            await handle.signal("cancel")
            await wait_until("a closed connection", lambda: model.abandoned)
        result = await handle.result()

    assert [request.schema_name for request in model.abandoned] == ["report_writer"]
    assert result.status == "cancelled"
