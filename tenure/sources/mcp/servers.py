"""Servers of the Model Context Protocol: their tools and their resources, as far as the settings allow them.

Each call is a process of its own, which starts or reaches the server, asks one thing, and ends. So a server that
hangs, crashes, lies or sends without end costs its call and nothing else, what it is told is no secret of this
process, and nobody who uses no such server waits for the library. What a server says is hostile text like any other.

    McpError
    ├── NotAllowed     the settings do not know the server, or do not allow the tool or resource
    ├── ServerFailed   the server did not answer as one
    └── ToolFailed     the tool ran, and says that it failed
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from pydantic import SecretStr, TypeAdapter

from tenure.settings import McpServer, variable
from tenure.sources.isolation import environment

MOST_BYTES: Final = 4 * 1024 * 1024
"""Bytes of an answer, written as JSON."""
_START: Final = 30.0
"""Seconds for starting a process and for ending a server, beyond the call's own."""
_MAIN: Final = "from tenure.sources.mcp.process import main; main()"


class McpError(Exception):
    """What went wrong with a server, in words for a reader."""


class NotAllowed(McpError):
    """The settings do not allow it; nothing was asked."""


class ServerFailed(McpError):
    """The server did not answer, or not as a server does."""


class ToolFailed(McpError):
    """The tool says that it failed."""


@dataclass(frozen=True)
class Tool:
    """A tool that may be called."""

    name: str
    """Its name."""
    description: str
    """What it does, in its server's words."""
    parameters: Mapping[str, Any]
    """JSON schema of its arguments."""


@dataclass(frozen=True)
class Link:
    """A resource that is named."""

    address: str
    """Its address."""
    title: str
    """Its title, or its name."""
    description: str = ""
    """What it is, in its server's words."""


@dataclass(frozen=True)
class Answer:
    """What a tool answered, without pictures and sounds."""

    texts: tuple[str, ...] = ()
    """Its texts, those of embedded resources included."""
    links: tuple[Link, ...] = ()
    """Resources that it names."""
    structured: Any = None
    """The same as a JSON value, where the tool gives one."""


@dataclass(frozen=True)
class Content:
    """A part of a resource."""

    address: str
    """Its address."""
    media_type: str
    """What it is, where the server says so."""
    text: str = ""
    """Its text; empty for bytes."""
    base64: str = ""
    """Its bytes, in Base64; empty for text."""


_TOOLS: Final = TypeAdapter(tuple[Tool, ...])
_LINKS: Final = TypeAdapter(tuple[Link, ...])
_ANSWER: Final = TypeAdapter(Answer)
_CONTENTS: Final = TypeAdapter(tuple[Content, ...])
_SERVER: Final = TypeAdapter(McpServer)


class McpServers:
    """The servers that the settings name."""

    def __init__(self, servers: Mapping[str, McpServer], *, seconds: float) -> None:
        """Give each call `seconds`."""
        self._servers, self._seconds = servers, seconds

    async def tools(self, server: str) -> tuple[Tool, ...]:
        """Return the tools of a server that may be called.

        Raises:
            McpError: it is not known, or did not answer.
        """
        known = self._known(server)
        found = _TOOLS.validate_python(await self._asked(server, {"do": "tools"}))
        return tuple(tool for tool in found if _allowed(tool.name, known.tools))

    async def call(self, server: str, tool: str, arguments: Mapping[str, object], *, check: bool = False) -> Answer:
        """Return what a tool answers.

        Args:
            server: name of the server.
            tool: name of the tool.
            arguments: what it is called with.
            check: whether they are held against its schema before it is called.

        Raises:
            McpError: it may not be called, does not take the arguments, did not answer, or failed.
        """
        if not _allowed(tool, self._known(server).tools):
            raise NotAllowed(f"{variable('mcp_servers')} does not allow the tool {tool!r} of {server}")
        return _ANSWER.validate_python(
            await self._asked(server, {"do": "call", "tool": tool, "arguments": dict(arguments), "check": check})
        )

    async def resources(self, server: str) -> tuple[Link, ...]:
        """Return the resources of a server that may be read.

        Raises:
            McpError: it is not known, or did not answer.
        """
        known = self._known(server)
        found = _LINKS.validate_python(await self._asked(server, {"do": "resources"}))
        return tuple(link for link in found if _allowed(link.address, known.resources))

    async def read(self, server: str, address: str) -> tuple[Content, ...]:
        """Return the parts of a resource.

        Raises:
            McpError: it may not be read, or the server did not answer.
        """
        if not _allowed(address, self._known(server).resources):
            raise NotAllowed(f"{variable('mcp_servers')} does not allow the resource {address!r} of {server}")
        return _CONTENTS.validate_python(await self._asked(server, {"do": "read", "address": address}))

    def _known(self, server: str) -> McpServer:
        """Return a server's settings.

        Raises:
            NotAllowed: there is none of the name.
        """
        if server not in self._servers:
            raise NotAllowed(f"{variable('mcp_servers')} knows no server {server!r}")
        return self._servers[server]

    async def _asked(self, name: str, question: Mapping[str, object]) -> object:
        """Return the answer of a process to one question.

        Raises:
            ServerFailed: there is none.
            ToolFailed: the tool failed.
        """
        server = _SERVER.dump_python(self._known(name), mode="python")
        sent = json.dumps({**question, "server": server, "seconds": self._seconds}, default=_plain)
        try:
            async with asyncio.timeout(self._seconds + _START):
                reply = json.loads(await _exchanged(sent.encode()))
        except TimeoutError:
            raise ServerFailed(f"{name} did not answer within {self._seconds:g} s") from None
        except ValueError as error:
            raise ServerFailed(f"{name}: the process that asked it died, or printed too much") from error
        if "problem" in reply:
            raise (ToolFailed if reply["tool"] else ServerFailed)(f"{name}: {reply['problem']}")
        return reply["answer"]


async def _exchanged(sent: bytes) -> bytes:
    """Return what the process prints for a question; it is gone afterwards, and so is every process it started.

    Raises:
        ValueError: it printed more than an answer has.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _MAIN, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=environment()
    )
    assert process.stdin and process.stdout  # both are pipes
    try:
        process.stdin.write(sent)
        process.stdin.close()
        printed = bytearray()
        while piece := await process.stdout.read(1 << 16):
            printed += piece
            if len(printed) > MOST_BYTES:
                raise ValueError("too long")
        await process.wait()
        return bytes(printed)
    finally:
        if process.returncode is None:
            _kill(process.pid)
            await process.wait()


def _kill(pid: int) -> None:
    """End a process and everything that it has started."""
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


def _allowed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _plain(value: object) -> str:
    """Write a secret; it goes through a pipe, where no other process can read it."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    raise TypeError(f"{type(value).__name__} is no JSON")
