"""Send one request to an MCP server, in a separate process.

The request is read from standard input and the reply is written to standard output, both as JSON. The server is
started or connected for this request only. Then the memory of this process is limited, because the library buffers
whatever a server sends; the server itself has only a time limit.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from os import devnull
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx2
import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from referencing import Registry
from referencing.exceptions import Unresolvable

from tenure.sources.isolation import limit_memory

_MEMORY_MB: Final = 512
_MAX_PAGES: Final = 20
_MAX_RESULT_LENGTH: Final = 2_000_000
"""Maximum length of a result as JSON, in characters."""
_MAX_DESCRIPTION_LENGTH: Final = 2_000
_MAX_PROBLEM_LENGTH: Final = 300


Page = TypeVar("Page", types.ListToolsResult, types.ListResourcesResult)


class _ResultTooLong(Exception):
    """The result exceeds the maximum length."""


class _ToolFailure(Exception):
    """The tool reports an error."""


@asynccontextmanager
async def _connect(server: dict[str, Any]) -> AsyncIterator[Any]:
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
async def _connect_confined(server: dict[str, Any]) -> AsyncIterator[Any]:
    """Yield the streams of a server, after the memory of this process was limited."""
    async with _connect(server) as streams:
        limit_memory(_MEMORY_MB)
        yield streams


async def answer_request(request: dict[str, Any]) -> Any:
    """Return the response of a server to a request."""
    async with Client(_connect_confined(request["server"]), cache=None) as client:
        match request["operation"]:
            case "tools":
                return await _list_tools(client)
            case "call":
                if request["validate"]:
                    _check_arguments(await _list_tools(client), request["tool"], request["arguments"])
                return _convert_result(await client.call_tool(request["tool"], request["arguments"]))
            case "resources":
                return await _list_resources(client)
            case _:
                read = await client.read_resource(request["uri"])
                return [part.text for part in read.contents if isinstance(part, types.TextResourceContents)]


def _check_arguments(tools: Sequence[dict[str, Any]], name: str, arguments: dict[str, Any]) -> None:
    """Validate arguments against the JSON Schema of a tool; remote references are not loaded."""
    schema = next((tool["parameters"] for tool in tools if tool["name"] == name), None)
    if schema is None:
        raise _ToolFailure(f"there is no tool {name!r}")
    try:
        Draft202012Validator.check_schema(schema)
        wrong = best_match(Draft202012Validator(schema, registry=Registry()).iter_errors(arguments))
    except (SchemaError, Unresolvable, re.error) as error:
        raise _ToolFailure(f"the schema of {name!r} cannot be read ({type(error).__name__})") from error
    if wrong:
        raise _ToolFailure(f"{wrong.json_path}: {wrong.message}")


async def _list_tools(client: Client) -> list[dict[str, Any]]:
    pages = await _fetch_pages(client.list_tools)
    return [
        {
            "name": tool.name,
            "description": (tool.description or "")[:_MAX_DESCRIPTION_LENGTH],
            "parameters": tool.input_schema,
        }
        for page in pages
        for tool in page.tools
    ]


async def _list_resources(client: Client) -> list[dict[str, str]]:
    return [
        _convert_link(resource) for page in await _fetch_pages(client.list_resources) for resource in page.resources
    ]


async def _fetch_pages(fetch: Callable[..., Awaitable[Page]]) -> list[Page]:
    pages = [await fetch(cursor=None)]
    while pages[-1].next_cursor and len(pages) < _MAX_PAGES:
        pages.append(await fetch(cursor=pages[-1].next_cursor))
    return pages


def _convert_result(result: types.CallToolResult) -> dict[str, Any]:
    texts = [part.text for part in result.content if isinstance(part, types.TextContent)]
    if result.is_error:
        raise _ToolFailure(" ".join(texts) or "it failed without a reason")
    embedded = [part.resource for part in result.content if isinstance(part, types.EmbeddedResource)]
    texts += [part.text for part in embedded if isinstance(part, types.TextResourceContents)]
    links = [_convert_link(part) for part in result.content if isinstance(part, types.ResourceLink)]
    return {"texts": texts, "links": links, "structured": result.structured_content}


def _convert_link(resource: types.Resource) -> dict[str, str]:
    return {
        "uri": str(resource.uri),
        "title": resource.title or resource.name,
        "description": (resource.description or "")[:_MAX_DESCRIPTION_LENGTH],
    }


async def build_reply(request: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a request, or a description of the problem."""
    try:
        async with asyncio.timeout(request["seconds"]):
            answer = await answer_request(request)
        if len(json.dumps(answer)) > _MAX_RESULT_LENGTH:
            raise _ResultTooLong
    except Exception as error:  # any error that the server causes becomes part of the reply
        return _describe_problem(_find_innermost(error), request["seconds"])
    return {"answer": answer}


def _describe_problem(error: BaseException, seconds: float) -> dict[str, Any]:
    """Describe an error, with at most one line of text of the server."""
    match error:
        case _ToolFailure():
            return {"problem": " ".join(str(error).split())[:_MAX_PROBLEM_LENGTH], "tool": True}
        case _ResultTooLong() | MemoryError():
            words = "it sent too much data"
        case TimeoutError():
            words = f"it did not answer within {seconds:g} s"
        case MCPError():
            words = f"it returned the error {' '.join(error.message.split())}"
        case OSError() | httpx2.HTTPError():
            words = f"it could not be started or reached ({type(error).__name__})"
        case _:
            words = f"it gave no valid response ({type(error).__name__})"
    return {"problem": words[:_MAX_PROBLEM_LENGTH], "tool": False}


def _find_innermost(error: BaseException) -> BaseException:
    """Return the first error inside exception groups that is no group."""
    inner: Sequence[BaseException] = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return _find_innermost(inner[0]) if inner else error


def main() -> None:
    """Answer the request on standard input."""
    print(json.dumps(asyncio.run(build_reply(json.load(sys.stdin)))))
