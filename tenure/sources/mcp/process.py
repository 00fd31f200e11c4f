"""One question to one server of the Model Context Protocol, in a process that does nothing else.

The question comes on standard input and the answer goes to standard output, both as JSON. A server is started, or
reached, for this question alone. From then on this process may use only so much memory, since the library puts
together whatever a server sends; the server itself has no limit but its time.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from os import devnull
from pathlib import Path
from typing import Any, Final

import httpx2
import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from referencing import Registry
from referencing.exceptions import Unresolvable

from tenure.sources.isolation import confine

_MEMORY_MB: Final = 512
_PAGES: Final = 20
"""Pages of a list that are asked for at the most."""
_LONGEST: Final = 2_000_000
"""Characters of an answer, before it is written as JSON."""
_LONGEST_WORDS: Final = 2_000
"""Characters of a description."""
_LONGEST_PROBLEM: Final = 300


class _TooLong(Exception):
    """The answer has more characters than one has."""


class _ToolProblem(Exception):
    """The tool says that it failed."""


@asynccontextmanager
async def _connected(server: dict[str, Any]) -> AsyncIterator[Any]:
    """Yield the streams of a server that was started or reached."""
    if server["url"]:
        async with (
            httpx2.AsyncClient(headers=server["headers"], timeout=None, trust_env=False) as http,
            streamable_http_client(server["url"], http_client=http) as streams,
        ):
            yield streams
        return
    program, *arguments = server["command"]
    parameters = StdioServerParameters(command=program, args=arguments, env=server["environment"])
    with Path(devnull).open("w") as nowhere:  # noqa: ASYNC230 - it never blocks
        async with stdio_client(parameters, errlog=nowhere) as streams:
            yield streams


@asynccontextmanager
async def _confined(server: dict[str, Any]) -> AsyncIterator[Any]:
    """Yield the streams of a server, once this process can take no more than its memory."""
    async with _connected(server) as streams:
        confine(_MEMORY_MB)
        yield streams


async def answered(question: dict[str, Any]) -> Any:
    """Return the answer of a server to a question."""
    async with Client(_confined(question["server"]), cache=None) as client:
        match question["do"]:
            case "tools":
                return await _tools(client)
            case "call":
                if question["check"]:
                    _check(await _tools(client), question["tool"], question["arguments"])
                return _said(await client.call_tool(question["tool"], question["arguments"]))
            case "resources":
                return await _resources(client)
            case _:
                read = await client.read_resource(question["address"])
                return [_content(part) for part in read.contents]


def _check(tools: Sequence[dict[str, Any]], name: str, arguments: dict[str, Any]) -> None:
    """Hold arguments against the schema of a tool; nothing that it refers to elsewhere is fetched.

    Raises:
        _ToolProblem: there is no such tool, or it does not take them.
    """
    schema = next((tool["parameters"] for tool in tools if tool["name"] == name), None)
    if schema is None:
        raise _ToolProblem(f"there is no tool {name!r}")
    try:
        Draft202012Validator.check_schema(schema)
        wrong = best_match(Draft202012Validator(schema, registry=Registry()).iter_errors(arguments))
    except (SchemaError, Unresolvable, re.error) as error:
        raise _ToolProblem(f"the schema of {name!r} cannot be read ({type(error).__name__})") from error
    if wrong:
        raise _ToolProblem(f"{wrong.json_path}: {wrong.message}")


async def _tools(client: Client) -> list[dict[str, Any]]:
    """Return all tools, page by page."""
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [
            {
                "name": tool.name,
                "description": (tool.description or "")[:_LONGEST_WORDS],
                "parameters": tool.input_schema,
            }
            for tool in page.tools
        ]
        if not (cursor := page.next_cursor):
            break
    return found


async def _resources(client: Client) -> list[dict[str, str]]:
    """Return all resources, page by page."""
    found: list[dict[str, str]] = []
    cursor = None
    for _ in range(_PAGES):
        page = await client.list_resources(cursor=cursor)
        found += [_link(resource) for resource in page.resources]
        if not (cursor := page.next_cursor):
            break
    return found


def _said(result: types.CallToolResult) -> dict[str, Any]:
    """Return what a tool says; pictures and sounds are left out.

    Raises:
        _ToolProblem: it says that it failed.
    """
    texts = [part.text for part in result.content if isinstance(part, types.TextContent)]
    if result.is_error:
        raise _ToolProblem(" ".join(texts) or "it failed, and does not say why")
    embedded = [part.resource for part in result.content if isinstance(part, types.EmbeddedResource)]
    texts += [part.text for part in embedded if isinstance(part, types.TextResourceContents)]
    links = [_link(part) for part in result.content if isinstance(part, types.ResourceLink)]
    return {"texts": texts, "links": links, "structured": result.structured_content}


def _link(resource: types.Resource) -> dict[str, str]:
    return {
        "address": str(resource.uri),
        "title": resource.title or resource.name,
        "description": (resource.description or "")[:_LONGEST_WORDS],
    }


def _content(part: types.TextResourceContents | types.BlobResourceContents) -> dict[str, str]:
    said = {"address": str(part.uri), "media_type": part.mime_type or ""}
    return said | ({"text": part.text} if isinstance(part, types.TextResourceContents) else {"base64": part.blob})


async def reply(question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a question, or the problem with it: whatever a server does, this process says so."""
    try:
        async with asyncio.timeout(question["seconds"]):
            answer = await answered(question)
        if len(json.dumps(answer)) > _LONGEST:
            raise _TooLong
    except Exception as error:  # the server's doing; which of the library's many errors it is, is told
        return _problem(_innermost(error), question["seconds"])
    return {"answer": answer}


def _problem(error: BaseException, seconds: float) -> dict[str, Any]:
    """Say what went wrong, without more of a server's words than a line."""
    match error:
        case _ToolProblem():
            return {"problem": " ".join(str(error).split())[:_LONGEST_PROBLEM], "tool": True}
        case _TooLong() | MemoryError():
            words = "it sent more than can be taken in"
        case TimeoutError():
            words = f"it did not answer within {seconds:g} s"
        case MCPError():
            words = f"it answered with the error {' '.join(error.message.split())}"
        case OSError() | httpx2.HTTPError():
            words = f"it could not be started or reached ({type(error).__name__})"
        case _:
            words = f"it did not answer as a server does ({type(error).__name__})"
    return {"problem": words[:_LONGEST_PROBLEM], "tool": False}


def _innermost(error: BaseException) -> BaseException:
    """Return the error inside groups of errors that says most: the first that is no group."""
    inner: Sequence[BaseException] = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return _innermost(inner[0]) if inner else error


def main() -> None:
    """Answer the question on standard input."""
    print(json.dumps(asyncio.run(reply(json.load(sys.stdin)))))
