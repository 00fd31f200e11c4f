"""Test the server over real standard streams and real HTTP with the official client."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import httpx
import psutil
import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from tenure.settings import Settings
from tenure.temporal.gate.access_key import load_key
from tests.cli.conftest import CommandLine, no_stack
from tests.mcp_server.conftest import on_stdio, over_http, serve_http
from tests.mcp_server.task_client import call_as_task, get_task, update_task, wait_for_status, wait_for_task
from tests.mcp_server.test_tools import get_text
from tests.support.tiers import slow

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def without_settings(running: CommandLine) -> Iterator[CommandLine]:
    """Command line of the running home, whose variables are those of this process as well."""
    with patch.dict(os.environ, running.environment(), clear=True):
        yield running


def list_servers() -> list[psutil.Process]:
    """Return the processes of servers that this process has started."""
    return [one for one in psutil.Process().children(recursive=True) if one.cmdline()[-1:] == ["mcp"]]


@slow
async def test_a_task_survives_its_server_on_standard_streams(without_settings: CommandLine) -> None:
    """The server is killed while the run waits; another process answers for the same task."""
    async with on_stdio(without_settings) as client:
        created = await call_as_task(client, "research", {"question": "clarify this", "id": "stdio-1"})
        (process,) = list_servers()
        process.kill()
        with pytest.raises(MCPError):
            await get_task(client.session, created.task_id)
    async with on_stdio(without_settings) as client:
        waiting = await wait_for_status(client.session, created.task_id, "input_required")
        (key,) = waiting.input_requests or {}
        answer = ElicitResult(action="accept", content={"answer": "2020"})
        await update_task(client.session, created.task_id, {key: answer})
        ended = await wait_for_task(client.session, created.task_id)

    assert (waiting.ttl_ms, waiting.created_at) == (None, created.created_at)
    assert ended.status == "completed"
    assert ended.result is not None
    assert '"text":"2020"' in get_text(ended.result)


@slow
async def test_a_task_survives_its_server_over_http(without_settings: CommandLine) -> None:
    """A server that is started later answers for the task of the earlier one."""
    async with over_http(without_settings.settings) as client:
        created = await call_as_task(client, "research", {"question": "wait here", "id": "http-1"})
    async with over_http(without_settings.settings) as client:
        working = await get_task(client.session, created.task_id)
        await client.call_tool("steer", {"run": "http-1", "command": "finish"})
        ended = await wait_for_task(client.session, created.task_id)

    assert (working.status, working.ttl_ms) == ("working", None)
    assert ended.status == "completed"


@slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_over_http_reports_progress(without_settings: CommandLine, mode: str) -> None:
    """A call of a client without tasks, also of 2025, gets progress on its response, and then the report."""
    lines: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message or "")

    async with over_http(without_settings.settings, has_tasks=False, mode=mode) as client:
        done = await client.call_tool("research", {"question": "Why?", "id": f"http-{mode}"}, progress_callback=hear)

    assert get_text(done).startswith("# A stub report")
    assert lines[0] == f"run http-{mode}"
    assert len(lines) > 1


async def test_only_the_key_of_the_home_lets_a_client_in(tmp_path: Path) -> None:
    """Without the key, with a wrong key or a wrong cookie nothing is answered."""
    wrong = {"authorization": "Bearer " + "0" * 64}
    async with (
        serve_http(Settings(home=tmp_path, _env_file=None)) as url,
        httpx.AsyncClient(headers=ACCEPT, timeout=60) as client,
    ):
        cookie = {"cookie": f"tenure_{httpx.URL(url).port}=1"}
        answers = [await client.post(url, json=INITIALIZE, headers=headers) for headers in ({}, wrong, cookie)]

    assert [answer.status_code for answer in answers] == [401, 401, 401]
    assert "bearer token" in answers[0].text


async def test_the_key_is_not_enough_for_pages_and_other_hosts(tmp_path: Path) -> None:
    """The rules of host and origin are those of `serve`; a program of the owner is let in."""
    async with serve_http(Settings(home=tmp_path, _env_file=None)) as url:
        key = {"authorization": f"Bearer {load_key(tmp_path)}", **ACCEPT}
        async with httpx.AsyncClient(headers=key, timeout=60) as client:

            async def post(**headers: str) -> int:
                return (await client.post(url, json=INITIALIZE, headers=headers)).status_code

            foreign = [
                await post(origin="http://evil.example"),
                await post(origin="null"),
                await post(**{"sec-fetch-site": "cross-site"}),
                await post(host="evil.example"),
                (await client.get(url.replace("/mcp", "/"), headers=ACCEPT)).status_code,
            ]
            welcome = await client.post(url, json=INITIALIZE)
            large = await client.post(url, content=b" " * 1_100_000, headers={"content-type": "application/json"})

    assert foreign == [403, 403, 403, 421, 404]
    assert (welcome.status_code, "tenure" in welcome.text) == (200, True)
    assert large.status_code == 413


@slow
async def test_tools_are_listed_before_the_stack_is_started(tmp_path: Path) -> None:
    """A client that only looks starts no server and no worker."""
    line = no_stack(tmp_path / "home")
    async with on_stdio(line) as client:
        tools = (await client.list_tools()).tools
        templates = (await client.list_resource_templates()).resource_templates

    assert (len(tools), len(templates)) == (7, 5)
    assert line("status", "--json").returncode == 4


def test_options_of_http_need_it(running: CommandLine) -> None:
    """Standard output belongs to the protocol, so `--json` is refused without `--http`."""
    refused = running("mcp", "--json")

    assert refused.returncode == 2
    assert "--http" in refused.stderr
