"""Test notifications about runs with the official client, against a real Temporal server and a stub worker."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import pytest
from mcp import Client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent, Subscription
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import EmptyResult, Request, RequestParams, ResourceUpdatedNotification

from tenure.mcp_server import subscriptions
from tenure.mcp_server.home import LazyHome
from tenure.mcp_server.replies import RUNS_URI
from tenure.mcp_server.resources import read_version
from tenure.mcp_server.server import build_server
from tenure.mcp_server.subscriptions import MAX_RESOURCES, Subscriptions, open_subscriptions
from tenure.runs.errors import Unreachable
from tests.cli.conftest import CommandLine
from tests.mcp_server.conftest import on_stdio, over_http
from tests.support.tiers import slow
from tests.support.waiting import wait_until


async def start(client: Client, run_id: str) -> None:
    """Start a run that waits."""
    await client.call_tool("research", {"question": "wait here", "id": run_id, "wait_seconds": 0})


async def read_state(client: Client, run_id: str) -> dict[str, Any]:
    """Return the state of a run as its resource has it."""
    content = (await client.read_resource(f"{RUNS_URI}/{run_id}")).contents[0]
    found: dict[str, Any] = json.loads(content.model_dump()["text"])
    return found


async def wait_for(subscription: Subscription, wanted: ServerEvent) -> None:
    """Return when an event arrives."""
    async for event in subscription:
        if event == wanted:
            return
    raise AssertionError("the stream has ended")


class Updates:
    """Handler of the messages of an earlier protocol, which keeps the URIs of updated resources."""

    def __init__(self) -> None:
        self.uris: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, message: object) -> None:
        """Keep the URI of an update."""
        if isinstance(message, ResourceUpdatedNotification):
            self.uris.put_nowait(message.params.uri)


@asynccontextmanager
async def in_process(running: CommandLine) -> AsyncIterator[tuple[Client, Subscriptions]]:
    """Yield a client with the subscriptions of its server, which looks for changes without a pause."""
    opened: list[Subscriptions] = []

    @asynccontextmanager
    async def keep(home: LazyHome) -> AsyncIterator[Subscriptions]:
        async with open_subscriptions(home) as made:
            opened.append(made)
            yield made

    with (
        patch.object(subscriptions, "POLL_SECONDS", 0.01),
        patch("tenure.mcp_server.server.open_subscriptions", keep),
    ):
        async with Client(build_server(LazyHome(running.settings))) as client:
            yield client, opened[0]


async def follow_run(client: Client, run_id: str) -> list[str]:
    """Start, pause and finish a run, each time after the notification of the former, and return its states."""
    uri = f"{RUNS_URI}/{run_id}"
    states: list[str] = []
    async with client.listen(resource_subscriptions=[uri, f"{uri}/report"], resources_list_changed=True) as changes:
        await start(client, run_id)
        await wait_for(changes, ResourcesListChanged())
        await client.call_tool("steer", {"run": run_id, "command": "pause"})
        while not states or states[-1] != "paused":
            await wait_for(changes, ResourceUpdated(uri))
            states.append((await read_state(client, run_id))["status"])
        await client.call_tool("steer", {"run": run_id, "command": "finish"})
        while (await read_state(client, run_id))["is_running"]:
            await wait_for(changes, ResourceUpdated(uri))
        states.append((await read_state(client, run_id))["status"])
    return states


@slow
async def test_a_run_is_followed_over_http(served: Server, running: CommandLine) -> None:
    """The stream reports the new run, its pause and its end."""
    async with over_http(running.settings, has_tasks=False) as client:
        resources = client.server_capabilities.resources
        states = await follow_run(client, "heard-http")

    assert resources is not None
    assert (resources.subscribe, resources.list_changed) == (True, True)
    assert states[-2:] == ["paused", "finished_early"]


@slow
async def test_a_run_is_followed_on_standard_streams(running: CommandLine) -> None:
    """The stream shares the connection with the calls of its client."""
    async with Client(on_stdio(running).server) as client:
        states = await follow_run(client, "heard-stdio")

    assert states[-2:] == ["paused", "finished_early"]


@slow
async def test_earlier_protocols_subscribe_on_standard_streams(running: CommandLine) -> None:
    """A client of 2025 subscribes to a resource, hears of its changes and unsubscribes."""
    uri, updates = f"{RUNS_URI}/heard-2025", Updates()
    async with Client(on_stdio(running).server, mode="legacy", message_handler=updates) as client:
        resources = client.server_capabilities.resources
        await start(client, "heard-2025")
        await client.session.send_request(Subscribe(params=SubscribeParams(uri=uri)), EmptyResult)
        await client.session.send_request(Subscribe(params=SubscribeParams(uri=uri)), EmptyResult)
        await client.call_tool("steer", {"run": "heard-2025", "command": "pause"})
        heard = await updates.uris.get()
        await client.session.send_request(
            Subscribe(method="resources/unsubscribe", params=SubscribeParams(uri=uri)), EmptyResult
        )
        await client.call_tool("steer", {"run": "heard-2025", "command": "finish"})
        state = await client.call_tool("status", {"run": "heard-2025", "wait_seconds": 60})

    assert resources is not None and resources.subscribe
    assert (heard, updates.uris.empty()) == (uri, True)
    assert state.structured_content["run"]["status"] == "finished_early"


@slow
async def test_earlier_protocols_have_no_subscriptions_over_http(served: Server, running: CommandLine) -> None:
    """A request that stands alone has no channel for notifications, so the server declares and accepts none."""
    async with over_http(running.settings, has_tasks=False, mode="legacy") as client:
        resources = client.server_capabilities.resources
        with pytest.raises(MCPError, match="Method not found"):
            await client.session.send_request(Subscribe(params=SubscribeParams(uri=RUNS_URI)), EmptyResult)

    assert resources is not None
    assert not resources.subscribe


async def test_nothing_is_read_without_subscriptions(served: Server, running: CommandLine) -> None:
    """Runs are read from the first subscription to the end of the last one, and not for other notifications."""
    async with in_process(running) as (client, opened):
        seen = [opened.is_reading]
        async with client.listen(tools_list_changed=True):
            seen.append(opened.is_reading)
        async with client.listen(resources_list_changed=True):
            async with client.listen(resource_subscriptions=[RUNS_URI]):
                seen.append(opened.is_reading)
            seen.append(opened.is_reading)
        await wait_until("the end of the stream", lambda: not opened.is_reading)

    assert seen == [False, False, True, True]


async def test_two_streams_hear_of_the_same_run(served: Server, running: CommandLine) -> None:
    """A stream that ends does not end the subscription of another one."""
    uri = f"{RUNS_URI}/heard-twice"
    async with in_process(running) as (client, _):
        await start(client, "heard-twice")
        async with client.listen(resource_subscriptions=[uri]) as lasting:
            async with client.listen(resource_subscriptions=[uri, f"{uri}/report"]) as other:
                await client.call_tool("steer", {"run": "heard-twice", "command": "pause"})
                await wait_for(other, ResourceUpdated(uri))
                await wait_for(lasting, ResourceUpdated(uri))
            await client.call_tool("steer", {"run": "heard-twice", "command": "finish"})
            await wait_for(lasting, ResourceUpdated(uri))


async def test_questions_and_reports_are_observed(served: Server, running: CommandLine) -> None:
    """The conversation about a run changes with a question, and its report with the end of the run."""
    uri = f"{RUNS_URI}/heard-asked"
    async with in_process(running) as (client, _):
        await start(client, "heard-asked")
        parts = [f"{uri}/questions", f"{uri}/report", f"{uri}/trace"]
        async with client.listen(resource_subscriptions=parts) as changes:
            await client.call_tool("steer", {"run": "heard-asked", "command": "finish"})
            await wait_for(changes, ResourceUpdated(f"{uri}/report"))
            await client.call_tool("ask", {"run": "heard-asked", "question": "And then?"})
            await wait_for(changes, ResourceUpdated(f"{uri}/questions"))


async def test_failures_end_no_subscription(
    served: Server, running: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    """Each reason is logged once, and the stream continues when the run can be read again, or has been started."""
    failures: list[Exception] = [Unreachable("the server is gone"), Unreachable("the server is gone"), OSError("full")]

    failed = asyncio.Event()

    async def fail(*arguments: Any) -> str:
        if failures:
            raise failures.pop(0)
        failed.set()
        return await read_version(*arguments)

    uri = f"{RUNS_URI}/heard-late"
    with patch.object(subscriptions, "read_version", fail), caplog.at_level(logging.WARNING):
        async with in_process(running) as (client, _), client.listen(resource_subscriptions=[uri]) as changes:
            await failed.wait()
            await start(client, "heard-late")
            await wait_for(changes, ResourceUpdated(uri))
            await client.call_tool("steer", {"run": "heard-late", "command": "finish"})

    logged = [record.message for record in caplog.records if record.name == subscriptions.__name__]
    assert logged[:2] == [
        f"{uri} cannot be observed: the server is gone",
        f"{uri} cannot be observed: OSError: full",
    ]
    assert len(logged) <= 3


async def test_the_number_of_resources_is_limited(served: Server, running: CommandLine) -> None:
    """A stream with too many resources is refused."""
    uris = [f"{RUNS_URI}/{number}" for number in range(MAX_RESOURCES + 1)]
    async with in_process(running) as (client, opened):
        with pytest.raises(MCPError, match="at most 50 resources"):
            async with client.listen(resource_subscriptions=uris):
                raise AssertionError("it is not opened")
        assert not opened.is_reading


class SubscribeParams(RequestParams):
    """Parameters of `resources/subscribe` and `resources/unsubscribe`."""

    uri: str


class Subscribe(Request[SubscribeParams, str]):
    """Request of an earlier protocol."""

    method: str = "resources/subscribe"
    params: SubscribeParams
