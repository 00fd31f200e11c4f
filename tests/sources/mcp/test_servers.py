"""Tests of MCP servers over standard streams and HTTP, including misbehaving servers."""

import asyncio
import json
import operator
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
import uvicorn
from mcp.server import MCPServer
from pydantic import SecretStr, ValidationError

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.contracts.research.tools import MAX_MCP_TEXT_LENGTH
from tenure.settings import Settings, describe_settings_error
from tenure.settings.web import McpServer
from tenure.sources.mcp.servers import (
    McpNotAllowed,
    McpServerError,
    McpServers,
    McpToolError,
    ResourceLink,
    ToolResult,
)
from tenure.sources.search.federated import FederatedSearch
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import wait_until

SCRIPT = Path(__file__).parents[1] / "mcp_stdio.py"
PATIENCE = 60.0


def by_hand(how: str = "behave", mark: str = "", **allowed: object) -> McpServer:
    """Return a server over standard streams whose process has a recognizable argument."""
    command = (sys.executable, str(SCRIPT), how, mark)
    return McpServer.model_validate({"command": command, "tools": ["search", "told", "broken"], **allowed})


def running(mark: str) -> bool:
    """Return whether a process with the argument exists, whatever its parent is."""
    return any(mark in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


def servers(server: McpServer, seconds: float = PATIENCE) -> McpServers:
    return McpServers({"own": server}, timeout_seconds=seconds)


@asynccontextmanager
async def over_http() -> AsyncIterator[str]:
    """Serve a server of the official library on the loopback interface."""
    server = MCPServer("kitchen", log_level="ERROR")

    @server.tool()
    def search(query: str, limit: int = 3) -> list[dict[str, str]]:
        """Search pages."""
        return [{"url": f"https://a.org/{number}", "title": query} for number in range(limit)]

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
        serving = asyncio.create_task(running.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            running.should_exit = True
            await serving


@slow
async def test_only_allowed_tools_are_offered_and_called() -> None:
    """Tools outside the allow-list are neither listed nor called."""
    client = servers(by_hand())

    assert [tool.name for tool in await client.list_tools("own")] == ["search", "told", "broken"]
    with pytest.raises(McpNotAllowed, match="TENURE_MCP_SERVERS does not allow the tool 'forbidden' of own"):
        await client.call_tool("own", "forbidden", {})
    with pytest.raises(McpNotAllowed, match="contains no server 'other'"):
        await client.list_tools("other")


@slow
async def test_only_allowed_resources_are_offered_and_read() -> None:
    """Patterns match the URIs of resources, of which only the texts are read."""
    client = servers(by_hand(resources=["docs://*"]))

    assert await client.list_resources("own") == (ResourceLink("docs://manual", "manual"),)
    assert await client.read_resource("own", "docs://manual") == ("How to.",)
    with pytest.raises(McpNotAllowed, match="does not allow the resource 'secret://key'"):
        await client.read_resource("own", "secret://key")


@slow
@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("search", {}, "'query' is a required property"),
        ("search", {"query": "rye", "limit": "three"}, "'three' is not of type 'integer'"),
        ("astray", {}, "the schema of 'astray' cannot be read"),
        ("absent", {}, "there is no tool 'absent'"),
    ],
)
async def test_arguments_are_validated(tool: str, arguments: dict[str, object], problem: str) -> None:
    """Invalid arguments are rejected before the call, and a schema loads no remote reference."""
    client = servers(by_hand("crash", tools=["*"]))

    with pytest.raises(McpToolError, match=problem):
        await client.call_tool("own", tool, arguments, validate=True)


@slow
async def test_valid_arguments_reach_the_tool() -> None:
    """Validation does not change the call."""
    answer = await servers(by_hand()).call_tool("own", "search", {"query": "rye"}, validate=True)

    assert json.loads(answer.texts[0])["asked"] == {"query": "rye"}


@slow
async def test_a_server_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a server contains a path, a home, and the variables of its settings."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret123")
    monkeypatch.setenv("TENURE_BRAVE_KEY", "sk-verysecret123")

    answer = await servers(by_hand(environment={"OWN_KEY": SecretStr("k")})).call_tool("own", "told", {})

    told = set(json.loads(answer.texts[0]))
    assert "OWN_KEY" in told
    assert told <= {"OWN_KEY", "HOME", "PATH", "LC_CTYPE", "LOGNAME", "SHELL", "TERM", "USER"}


@slow
async def test_the_error_of_a_tool_is_reported() -> None:
    """The message is truncated to one line."""
    with pytest.raises(McpToolError, match="own: the tool is out of order"):
        await servers(by_hand()).call_tool("own", "broken", {})


@slow
@pytest.mark.parametrize(
    ("how", "seconds", "problem"),
    [
        ("hang", 1.0, "it did not answer within 1 s"),
        ("crash", PATIENCE, "Connection closed"),
        pytest.param("lie", PATIENCE, "Connection closed", marks=exhaustive),
        pytest.param("flood", 1.0, "it (did not answer within 1 s|sent too much data)", marks=exhaustive),
    ],
)
async def test_a_misbehaving_server_fails_its_call(how: str, seconds: float, problem: str, tmp_path: Path) -> None:
    """The call fails at its timeout, and the process ends."""
    with pytest.raises(McpServerError, match=f"own: .*{problem}"):
        await servers(by_hand(how, str(tmp_path)), seconds).call_tool("own", "search", {"query": "rye"})

    await wait_until("the end of the process", lambda: running(str(tmp_path)), operator.not_)


@slow
async def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    """The server ends with a cancelled call."""
    calling = asyncio.create_task(servers(by_hand("hang", str(tmp_path))).call_tool("own", "search", {}))
    await wait_until("the process", lambda: running(str(tmp_path)))

    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await wait_until("the end of the process", lambda: running(str(tmp_path)), operator.not_)


@slow
async def test_a_missing_server_is_an_error() -> None:
    """A missing program and an unreachable address are errors of the server."""
    with pytest.raises(McpServerError, match="could not be started or reached"):
        await servers(McpServer(command=("no-such-program",), tools=("*",))).call_tool("own", "search", {})
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = McpServer(url=f"http://127.0.0.1:{unused.getsockname()[1]}/mcp", tools=("*",))
        with pytest.raises(McpServerError, match="could not be started or reached"):
            await servers(nobody).call_tool("own", "search", {})


@slow
async def test_a_search_tool_is_a_search_provider() -> None:
    """Its results are fused, and the number of results is passed on; a server without a search tool is no provider."""
    async with over_http() as address:
        chosen = {
            "far": {"url": address, "tools": ["*"], "search": "search"},
            "tools_only": {"url": address, "tools": ["*"]},
        }
        settings = Settings(_env_file=None, mcp_servers=chosen, search_seconds=PATIENCE)  # type: ignore[arg-type]
        servers = FederatedSearch.from_settings(settings)
        reply = await servers.search(WebSearchRequest(query="rye", k=2, providers=("far", "tools_only")))
        await servers.aclose()

    assert [(answer.provider, answer.status, answer.hits) for answer in reply.outcomes] == [
        ("far", "answered", 2),
        ("tools_only", "left_out", 0),
    ]
    assert [hit.url for hit in reply.hits] == ["https://a.org/0", "https://a.org/1"]


def test_the_text_of_a_result_fits_into_a_history() -> None:
    """The texts of a result, or its structured content without any, are cut and contain no unpaired surrogates."""
    assert ToolResult(texts=("Bread", "Cheese"), structured={"n": 1}).text == "Bread\n\nCheese"
    assert ToolResult(structured={"n": "ä"}).text == '{\n "n": "ä"\n}'
    assert ToolResult(texts=("\ud800 " * MAX_MCP_TEXT_LENGTH,)).text == "? " * (MAX_MCP_TEXT_LENGTH // 2)


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({}, "either a `command` or a `url`"),
        ({"url": "http://a.org", "command": ["x"]}, "either a `command` or a `url`"),
        (
            {"url": "http://a.org", "header": {}},
            "TENURE_MCP_SERVERS__OWN__HEADER is not valid: should be one of command, ",
        ),
    ],
)
def test_contradictory_settings_are_rejected(server: dict[str, object], message: str) -> None:
    """A server with both or neither of command and URL is an error."""
    with pytest.raises(ValidationError) as caught:
        Settings(_env_file=None, mcp_servers={"own": server})  # type: ignore[dict-item]

    assert message in describe_settings_error(caught.value)


@slow
def test_the_library_is_not_loaded_before_it_is_needed() -> None:
    """A worker without MCP servers does not import the library."""
    code = "import sys, tenure.sources.search.federated, tenure.sources.mcp.servers; sys.exit('mcp' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
