"""Test that a repeated call starts no second run, against a real Temporal server and a stub worker."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult
from pydantic import SecretStr

from tenure.mcp_server.home import LazyHome
from tenure.mcp_server.repeats import compute_digest
from tenure.mcp_server.server import build_server
from tenure.runs.messages import StartRequest
from tenure.settings import Settings
from tests.cli.conftest import CommandLine
from tests.mcp_server.conftest import on_stdio, over_http
from tests.mcp_server.task_client import Tasks, call_as_task, get_task, wait_for_task
from tests.mcp_server.test_tools import get_text
from tests.support.tiers import slow


@asynccontextmanager
async def connect(running: CommandLine) -> AsyncIterator[Client]:
    """Yield a client of a server of its own, which knows nothing of earlier calls."""
    async with Client(build_server(LazyHome(running.settings))) as client:
        yield client


async def start(client: Client, question: str, **arguments: Any) -> CallToolResult:
    """Call `research` without waiting for the end."""
    return await client.call_tool("research", {"question": question, "wait_seconds": 0, **arguments})


async def finish(client: Client, run_id: str) -> None:
    """End a run and wait until it has ended."""
    await client.call_tool("steer", {"run": run_id, "command": "finish"})
    await client.call_tool("status", {"run": run_id, "wait_seconds": 60})


def get_id(result: CallToolResult) -> str:
    """Return the id of the run of a result."""
    assert result.structured_content is not None, get_text(result)
    return str(result.structured_content["run"]["id"])


async def count_runs(client: Client, words: str) -> int:
    """Return the number of runs whose id or question has all words."""
    listed = await client.call_tool("status", {"words": words})
    return len(listed.structured_content["runs"])


async def test_a_repeated_id_returns_its_run(served: Server, running: CommandLine, tmp_path: Path) -> None:
    """The run is returned while it runs and after its end, also by another server and without its documents."""
    (tmp_path / "rye.md").write_text("Rye bread is dark.", encoding="utf-8")
    call: dict[str, Any] = {"question": "wait for rye", "id": "again-1", "docs": [str(tmp_path / "rye.md")]}
    lines: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async with connect(running) as client:
        first = await start(client, **call)
    (tmp_path / "rye.md").unlink()
    async with connect(running) as client:
        second = await client.call_tool("research", {**call, "wait_seconds": 0}, progress_callback=hear)
        await finish(client, "again-1")
        third = await start(client, **call)
        runs = await count_runs(client, "again-1")

    assert (get_id(first), get_id(second), get_id(third), runs) == ("again-1", "again-1", "again-1", 1)
    assert lines[0] == "run again-1, which an earlier call has started"
    assert second.structured_content["run"]["is_running"]
    assert get_text(third).startswith("# A stub report")


async def test_an_id_belongs_to_one_request(served: Server, running: CommandLine) -> None:
    """Another question, other arguments, `new` and the id of a run of the command line are refused in one line."""
    assert running("start", "wait here", "--id", "again-cli", "--detach").returncode == 0
    async with connect(running) as client:
        await start(client, "wait here", id="again-2")
        refused = [
            await start(client, "wait there", id="again-2"),
            await start(client, "wait here", id="again-2", max_cycles=2),
            await start(client, "wait here", id="again-2", new=True),
            await start(client, "wait here", id="again-cli"),
        ]
        await finish(client, "again-2")
        await finish(client, "again-cli")

    assert all(result.is_error for result in refused)
    assert [get_text(result).partition(":")[0] for result in refused] == [
        "the id again-2 is in use by a run with another question or other arguments",
        "the id again-2 is in use by a run with another question or other arguments",
        "the id again-2 is in use",
        "the id again-cli is in use by a run with another question or other arguments",
    ]


async def test_a_call_without_an_id_joins_its_run(served: Server, running: CommandLine) -> None:
    """A repetition joins the running run, also in another server; after the end it starts the next one."""
    async with connect(running) as client:
        first = await start(client, "wait for oats")
    async with connect(running) as client:
        second = await start(client, "wait for oats", wait_seconds=0.1)
        other = await start(client, "wait for oats", max_cycles=2)
        await finish(client, get_id(first))
        third = await start(client, "wait for oats")
        joined = await start(client, "wait for oats")
        for result in (other, third):
            await finish(client, get_id(result))
        fourth = await start(client, "wait for oats")
        await finish(client, get_id(fourth))

    name = get_id(first)
    assert name.startswith("research-wait-for-oats-")
    assert [get_id(one) for one in (second, third, joined, fourth)] == [name, f"{name}-2", f"{name}-2", f"{name}-3"]
    assert get_id(other) not in (name, f"{name}-2")


async def test_another_run_is_started_on_request(served: Server, running: CommandLine) -> None:
    """`new` starts a second run in addition to the first one; a repetition joins the later one."""
    async with connect(running) as client:
        results = [
            await start(client, "wait for barley"),
            await start(client, "wait for barley", new=True),
            await start(client, "wait for barley"),
        ]
        ids = [get_id(result) for result in results]
        for one in ids[:2]:
            await finish(client, one)

    assert ids == [ids[0], f"{ids[0]}-2", f"{ids[0]}-2"]


async def test_an_id_in_use_by_another_request_is_passed_over(served: Server, running: CommandLine) -> None:
    """A run of the command line that has the id of a request is not joined."""
    async with connect(running) as client:
        name = get_id(await start(client, "wait for millet"))
        await finish(client, name)
        assert running("start", "wait for millet", "--id", f"{name}-2", "--detach").returncode == 0
        started = get_id(await start(client, "wait for millet"))
        for one in (f"{name}-2", started):
            await finish(client, one)

    assert started == f"{name}-3"


async def test_simultaneous_calls_start_one_run(served: Server, running: CommandLine) -> None:
    """Calls of several servers at the same time get the same run, with and without an id."""

    async def call(**arguments: Any) -> str:
        async with connect(running) as client:
            return get_id(await start(client, "wait for spelt", **arguments))

    unnamed = set(await asyncio.gather(*(call() for _ in range(4))))
    named = set(await asyncio.gather(*(call(id="again-3") for _ in range(4))))
    async with connect(running) as client:
        for run_id in unnamed | named:
            await finish(client, run_id)

    assert (len(unnamed), named) == (1, {"again-3"})


async def test_a_repeated_call_returns_the_same_task(served: Server, running: CommandLine) -> None:
    """The second task has the id and the start of the first one; by a chosen id also when it is completed."""
    async with Client(served, extensions=[Tasks()]) as client:
        call = {"question": "wait for wheat"}
        first, second = [await call_as_task(client, "research", call) for _ in range(2)]
        named = await call_as_task(client, "research", {**call, "id": "again-4"})
        for task in (first, named):
            await finish(client, task.task_id)
        ended = await call_as_task(client, "research", {**call, "id": "again-4"})
        result = (await wait_for_task(client.session, "again-4")).result

    assert (first.task_id, first.created_at) == (second.task_id, second.created_at)
    assert (named.task_id, ended.task_id, ended.status) == ("again-4", "again-4", "completed")
    assert result is not None and get_text(result).startswith("# A stub report")


@slow
async def test_a_call_is_repeated_after_the_server_was_killed(served: Server, running: CommandLine) -> None:
    """The process that has started the run is killed; the next one, and one over HTTP, join it."""
    with patch.dict(os.environ, running.environment(), clear=True):
        async with on_stdio(running) as client:
            first = await call_as_task(client, "research", {"question": "wait for the kill"})
            (process,) = [one for one in psutil.Process().children(recursive=True) if one.cmdline()[-1:] == ["mcp"]]
            process.kill()
        async with on_stdio(running) as client:
            second = await call_as_task(client, "research", {"question": "wait for the kill"})
        async with over_http(running.settings) as client:
            third = await call_as_task(client, "research", {"question": "wait for the kill"})
            await client.call_tool("steer", {"run": first.task_id, "command": "finish"})
            await wait_for_task(client.session, first.task_id)
            state = await get_task(client.session, second.task_id)

    assert first.task_id == second.task_id == third.task_id
    assert state.status == "completed"


def test_ids_of_private_runs_reveal_nothing() -> None:
    """The digest of a request depends on the secrets of the settings, and not on the id or on default values."""
    request = StartRequest(question="Why?", mode="research")
    plain = Settings(_env_file=None)
    owned = Settings(owner="ann", owner_token=SecretStr("a" * 32), _env_file=None)

    assert compute_digest(request, plain) == compute_digest(
        request.model_copy(update={"id": "one", "memory": None}), plain
    )
    assert compute_digest(request, plain) != compute_digest(request, owned)
    assert compute_digest(request, plain) != compute_digest(request.model_copy(update={"question": "How?"}), plain)
