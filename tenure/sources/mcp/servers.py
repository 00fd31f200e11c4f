"""Call MCP servers: list and call tools, and list and read resources, as far as the settings allow.

Each call runs in a separate process that starts or connects the server, sends one request, and ends. A server that
hangs, crashes or sends endless data therefore fails only its own call, it sees no secrets of this process, and
workers without MCP servers do not import the library. Content from servers is untrusted.

    McpError
    ├── McpNotAllowed    the settings do not name the server, or do not allow the tool or resource
    ├── McpServerError   the server gave no valid response
    └── McpToolError     the tool reported an error
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from pydantic import SecretStr, TypeAdapter

from tenure.contracts.research.tools import MAX_MCP_TEXT_LENGTH
from tenure.settings import get_environment_variable
from tenure.settings.web import McpServer
from tenure.sources.isolation import build_child_environment

MAX_OUTPUT_BYTES: Final = 4 * 1024 * 1024
_START_SECONDS: Final = 30.0
"""Time for starting the process and ending the server, in addition to the timeout of the call."""
# Collections of garbage during the imports find nothing and take a seventh of their time.
_MAIN: Final = "import gc; gc.disable(); from tenure.sources.mcp.process import main; gc.enable(); main()"


class McpError(Exception):
    """Base of the errors of a call; the message is shown to users."""


class McpNotAllowed(McpError):
    """The settings do not allow the call; no request was sent."""


class McpServerError(McpError):
    """The server gave no response, or an invalid one."""


class McpToolError(McpError):
    """The tool reported an error."""


@dataclass(frozen=True)
class McpToolDescription:
    """An allowed tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ResourceLink:
    """Reference to a resource."""

    uri: str
    title: str
    description: str = ""


@dataclass(frozen=True)
class ToolResult:
    """Result of a tool, without images and audio."""

    texts: tuple[str, ...] = ()
    """Text contents, including those of embedded resources."""
    links: tuple[ResourceLink, ...] = ()
    structured: Any = None
    """Structured content as a JSON value, if the tool returns any."""

    @property
    def text(self) -> str:
        """All texts, or the structured content without any, in characters that can be encoded."""
        text = "\n\n".join(self.texts) or json.dumps(self.structured, ensure_ascii=False, indent=1)
        return text[:MAX_MCP_TEXT_LENGTH].encode(errors="replace").decode()


_TOOLS: Final = TypeAdapter(tuple[McpToolDescription, ...])
_LINKS: Final = TypeAdapter(tuple[ResourceLink, ...])
_ANSWER: Final = TypeAdapter(ToolResult)
_TEXTS: Final = TypeAdapter(tuple[str, ...])
_SERVER: Final = TypeAdapter(McpServer)


class McpServers:
    """Client of the servers that the settings name; a call that is not allowed or fails raises `McpError`."""

    def __init__(self, servers: Mapping[str, McpServer], *, timeout_seconds: float) -> None:
        self._servers, self._timeout_seconds = servers, timeout_seconds

    async def list_tools(self, server: str) -> tuple[McpToolDescription, ...]:
        """Return the allowed tools of a server."""
        config = self._get_server(server)
        tools = _TOOLS.validate_python(await self._run_request(server, {"operation": "tools"}))
        return tuple(tool for tool in tools if _is_allowed(tool.name, config.tools))

    async def call_tool(
        self, server: str, tool: str, arguments: Mapping[str, object], *, validate: bool = False
    ) -> ToolResult:
        """Call a tool; with `validate`, its arguments are checked against its JSON Schema before."""
        if not _is_allowed(tool, self._get_server(server).tools):
            raise McpNotAllowed(
                f"{get_environment_variable('mcp_servers')} does not allow the tool {tool!r} of {server}"
            )
        return _ANSWER.validate_python(
            await self._run_request(
                server, {"operation": "call", "tool": tool, "arguments": dict(arguments), "validate": validate}
            )
        )

    async def list_resources(self, server: str) -> tuple[ResourceLink, ...]:
        """Return the allowed resources of a server; a server of which none is allowed is not asked."""
        config = self._get_server(server)
        if not config.resources:
            return ()
        links = _LINKS.validate_python(await self._run_request(server, {"operation": "resources"}))
        return tuple(link for link in links if _is_allowed(link.uri, config.resources))

    async def read_resource(self, server: str, uri: str) -> tuple[str, ...]:
        """Return the texts of a resource, without binary parts."""
        if not _is_allowed(uri, self._get_server(server).resources):
            raise McpNotAllowed(
                f"{get_environment_variable('mcp_servers')} does not allow the resource {uri!r} of {server}"
            )
        return _TEXTS.validate_python(await self._run_request(server, {"operation": "read", "uri": uri}))

    def _get_server(self, server: str) -> McpServer:
        if server not in self._servers:
            raise McpNotAllowed(f"{get_environment_variable('mcp_servers')} contains no server {server!r}")
        return self._servers[server]

    async def _run_request(self, name: str, request: Mapping[str, object]) -> object:
        """Return the response to one request, sent by a separate process."""
        server = _SERVER.dump_python(self._get_server(name), mode="python")
        sent = json.dumps({**request, "server": server, "seconds": self._timeout_seconds}, default=_serialize_secret)
        try:
            async with asyncio.timeout(self._timeout_seconds + _START_SECONDS):
                reply = json.loads(await _run_process(sent.encode()))
        except TimeoutError:
            raise McpServerError(f"{name} did not answer within {self._timeout_seconds:g} s") from None
        except ValueError as error:
            raise McpServerError(f"{name}: its client process crashed, or its reply was too long") from error
        if "problem" in reply:
            raise (McpToolError if reply["tool"] else McpServerError)(f"{name}: {reply['problem']}")
        return reply["answer"]


async def _run_process(sent: bytes) -> bytes:
    """Return the output of the process for a request; afterwards, the process and all its children have ended."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _MAIN,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        env=build_child_environment(),
    )
    assert process.stdin and process.stdout  # both are pipes
    try:
        process.stdin.write(sent)
        process.stdin.close()
        printed = bytearray()
        while piece := await process.stdout.read(1 << 16):
            printed += piece
            if len(printed) > MAX_OUTPUT_BYTES:
                raise ValueError("too long")
        await process.wait()
        return bytes(printed)
    finally:
        if process.returncode is None:
            _kill_process_tree(process.pid)
            await process.wait()


def _kill_process_tree(pid: int) -> None:
    import psutil  # seldom needed, and a twentieth of a second of a worker's start

    try:
        parent = psutil.Process(pid)
        family = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue  # it was faster


def _is_allowed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _serialize_secret(value: object) -> str:
    """Return a secret as text; it is passed through a pipe, which no other process can read."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    raise TypeError(f"{type(value).__name__} is no JSON")
