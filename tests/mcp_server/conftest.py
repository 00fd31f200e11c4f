"""Fixtures: the MCP server of a home, in this process, on standard streams and over HTTP."""

import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from unittest.mock import patch

import httpx2
import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.types import ElicitRequestParams, ElicitResult

from tenure.mcp_server.home import LazyHome
from tenure.mcp_server.server import build_server, open_http_app
from tenure.settings import Settings
from tenure.site.server import open_listener
from tenure.temporal.gate.access_key import load_key
from tenure.temporal.gate.http_server import serve_app
from tests.cli.conftest import ROOT, CommandLine, running
from tests.mcp_server.task_client import Tasks
from tests.support.ports import free_ports

__all__ = ["running"]


@pytest.fixture
def served(running: CommandLine) -> Iterator[Server]:
    """Server of a home whose stack runs the stub worker."""
    with patch.dict(os.environ, running.environment(), clear=True):
        yield build_server(LazyHome(running.settings))


def on_stdio(line: CommandLine, extra: Mapping[str, str] | None = None) -> Client:
    """Return a client that starts `client.py mcp` as a process of its own."""
    command = [str(ROOT / "client.py"), "mcp"]
    return Client(
        StdioServerParameters(command=sys.executable, args=command, env=line.environment(extra)),
        extensions=[Tasks()],
        elicitation_callback=Reply("the year 2020"),
    )


class Reply:
    """Callback that answers forms, and keeps their messages."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.messages: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Answer a form."""
        self.messages.append(params.message)
        return ElicitResult(action="accept", content={"answer": self._answer})


@asynccontextmanager
async def serve_http(settings: Settings) -> AsyncIterator[str]:
    """Serve a home over HTTP on a free port and yield the URL."""
    port = free_ports(1)[0]
    with open_listener(port) as listener:
        async with open_http_app(LazyHome(settings), port) as app, serve_app(app, listener):
            yield f"http://127.0.0.1:{port}/mcp"


@asynccontextmanager
async def over_http(settings: Settings, *, has_tasks: bool = True, mode: str = "auto") -> AsyncIterator[Client]:
    """Serve a home over HTTP and yield a client with its key."""
    key = {"authorization": f"Bearer {load_key(settings.home)}"}
    async with (
        serve_http(settings) as url,
        httpx2.AsyncClient(headers=key, timeout=60) as http,
        Client(
            streamable_http_client(url, http_client=http), extensions=[Tasks()] if has_tasks else [], mode=mode
        ) as client,
    ):
        yield client
