"""Tests of search tools of MCP servers."""

from collections.abc import Mapping
from typing import Any

import pytest

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.mcp.servers import (
    McpNotAllowed,
    McpServerError,
    McpServers,
    McpToolDescription,
    ResourceLink,
    ToolResult,
)
from tenure.sources.search.mcp_provider import McpSearchProvider
from tenure.sources.search.provider import ProviderSkipped, SearchRefused, SearchResult, SearchUnavailable

PAGES = [{"url": "https://a.org/", "title": "A"}]
A = SearchResult("https://a.org/", "A")


class Servers(McpServers):
    """Server with one tool."""

    def __init__(self, answer: ToolResult | Exception, *parameters: str, required: tuple[str, ...] = ()) -> None:
        super().__init__({}, timeout_seconds=1)
        self._answer = answer
        schema = {"type": "object", "properties": {name: {} for name in parameters}, "required": list(required)}
        self._tool = McpToolDescription("find", "Find.", schema)
        self.called: list[Mapping[str, object]] = []
        self.listed = 0

    async def list_tools(self, server: str) -> tuple[McpToolDescription, ...]:
        self.listed += 1
        return (self._tool,)

    async def call_tool(
        self, server: str, tool: str, arguments: Mapping[str, object], *, validate: bool = False
    ) -> ToolResult:
        self.called.append(arguments)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def found(servers: Servers, tool: str = "find", **request: Any) -> list[SearchResult]:
    return await McpSearchProvider("own", servers, tool).search(WebSearchRequest(**{"query": "rye", **request}))


@pytest.mark.parametrize(
    "answer",
    [
        ToolResult(structured={"result": PAGES}),
        ToolResult(texts=("Here you are:", '{"results": [{"url": "https://a.org/", "title": "A"}]}')),
        ToolResult(texts=("nothing to see",), links=(ResourceLink("https://a.org/", "A"),)),
        ToolResult(texts=("- [A](https://a.org/)",)),
    ],
)
async def test_results_are_taken_from_any_form(answer: ToolResult) -> None:
    """Results may be structured content, JSON in a text, linked resources, or links in a text."""
    assert await found(Servers(answer, "query")) == [A]


@pytest.mark.parametrize(
    ("parameters", "required", "arguments"),
    [
        (("query", "limit", "k"), (), {"query": "rye site:a.org", "limit": 7}),
        (("q",), (), {"q": "rye site:a.org"}),
        (("topic", "style"), ("topic",), {"topic": "rye site:a.org"}),
    ],
)
async def test_parameters_are_recognized_by_their_names(
    parameters: tuple[str, ...], required: tuple[str, ...], arguments: dict[str, object]
) -> None:
    """The query has a usual name or is the only required parameter; a number of results is passed if supported."""
    servers = Servers(ToolResult(), *parameters, required=required)

    await found(servers, k=7, domains=("a.org",))

    assert servers.called == [arguments]


async def test_a_tool_is_looked_up_once() -> None:
    """The description of a tool is cached."""
    servers = Servers(ToolResult(), "query")
    provider = McpSearchProvider("own", servers, "find")
    for _ in range(2):
        await provider.search(WebSearchRequest(query="rye"))

    assert (servers.listed, len(servers.called)) == (1, 2)


async def test_unusable_tools_are_refused() -> None:
    """A missing tool and a tool without a parameter for a query are refused."""
    with pytest.raises(SearchRefused, match="has no tool 'other' that the settings allow"):
        await found(Servers(ToolResult()), "other")
    with pytest.raises(SearchRefused, match="has no parameter for a query"):
        await found(Servers(ToolResult(), "a", "b", required=("a", "b")))


async def test_errors_become_those_of_a_provider() -> None:
    """Forbidden calls are skipped, and failures of a server are transient."""
    with pytest.raises(ProviderSkipped, match="not allowed"):
        await found(Servers(McpNotAllowed("not allowed"), "query"))
    with pytest.raises(SearchUnavailable, match="it crashed"):
        await found(Servers(McpServerError("it crashed"), "query"))
