"""Use the search tool of an MCP server as a search provider."""

from collections.abc import Mapping
from typing import Any, Final

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.mcp.servers import McpError, McpNotAllowed, McpServers, McpToolDescription, ToolResult
from tenure.sources.search.api_client import parse_json
from tenure.sources.search.json_results import find_links, find_results
from tenure.sources.search.provider import (
    ProviderSkipped,
    SearchRefused,
    SearchResult,
    SearchUnavailable,
    add_site_operators,
    build_result,
)

_QUERY_PARAMETERS: Final = ("query", "q", "search", "search_query", "searchTerms", "text", "question", "keywords")
_COUNT_PARAMETERS: Final = (
    "count",
    "limit",
    "k",
    "max_results",
    "maxResults",
    "num_results",
    "numResults",
    "top_k",
    "n",
)


class McpSearchProvider:
    """A tool that takes a query and returns pages.

    The parameters for the query and the number of results are recognized by their names. Domains become `site:`
    operators; time range, language and safe search are not supported. Results come from the structured content of the
    tool result, from JSON in its text, or from links in its text.
    """

    domains = ()

    def __init__(self, name: str, servers: McpServers, tool: str) -> None:
        self.name, self._servers, self._tool_name = name, servers, tool
        self._tool_description: McpToolDescription | None = None

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return the results of the tool."""
        try:
            tool = self._tool_description = self._tool_description or await self._find_tool()
            answer = await self._servers.call_tool(self.name, tool.name, self._build_arguments(tool, request))
        except McpNotAllowed as error:
            raise ProviderSkipped(str(error)) from error
        except McpError as error:
            raise SearchUnavailable(str(error)) from error
        return _parse_results(answer)

    async def _find_tool(self) -> McpToolDescription:
        tools = {tool.name: tool for tool in await self._servers.list_tools(self.name)}
        if self._tool_name not in tools:
            raise SearchRefused(f"{self.name} has no tool {self._tool_name!r} that the settings allow")
        return tools[self._tool_name]

    def _build_arguments(self, tool: McpToolDescription, request: WebSearchRequest) -> dict[str, object]:
        properties: Mapping[str, Any] = tool.parameters.get("properties", {})
        needed = tool.parameters.get("required", [])
        query = next(
            (name for name in (*_QUERY_PARAMETERS, *(needed if len(needed) == 1 else ())) if name in properties), None
        )
        if query is None:
            raise SearchRefused(f"the tool {tool.name!r} of {self.name} has no parameter for a query")
        counts: dict[str, object] = {name: request.k for name in _COUNT_PARAMETERS if name in properties}
        return {query: add_site_operators(request)} | dict(list(counts.items())[:1])


def _parse_results(answer: ToolResult) -> list[SearchResult]:
    """Return the pages in a tool result, by the first form that contains any."""
    if results := find_results(answer.structured):
        return results
    for text in answer.texts:
        try:
            value = parse_json(text.encode())
        except ValueError:
            continue  # no JSON: links in the text are read below
        if results := find_results(value):
            return results
    linked = [build_result(link.uri, link.title, link.description) for link in answer.links]
    return linked or [result for text in answer.texts for result in find_links(text)]
