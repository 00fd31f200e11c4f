"""The search tool of an MCP server as a search provider like the others."""

from collections.abc import Mapping
from typing import Any, Final

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.mcp.servers import Answer, McpError, McpServers, NotAllowed, Tool
from tenure.sources.search.base import Found, LeftOut, Refused, Unavailable, found, restricted
from tenure.sources.search.listing import linked, listed
from tenure.sources.search.service import parsed

_QUERIES: Final = ("query", "q", "search", "search_query", "searchTerms", "text", "question", "keywords")
_COUNTS: Final = ("count", "limit", "k", "max_results", "maxResults", "num_results", "numResults", "top_k", "n")


class McpSearch:
    """A tool that takes a query and answers with pages.

    Which of its arguments is the query, and which the number of results, is told by their names. Domains become the
    operator `site:`; time range, language and safe search cannot be asked for. Results are taken from its structured
    answer, from JSON in its text, or from the links in it.
    """

    domains = ()

    def __init__(self, name: str, servers: McpServers, tool: str) -> None:
        """Call `tool` of the server `name`."""
        self.name, self._servers, self._tool = name, servers, tool
        self._described: Tool | None = None

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return what the tool offers."""
        try:
            tool = self._described = self._described or await self._found()
            answer = await self._servers.call(self.name, tool.name, self._arguments(tool, request))
        except NotAllowed as error:
            raise LeftOut(str(error)) from error
        except McpError as error:
            raise Unavailable(str(error)) from error
        return _results(answer)

    async def _found(self) -> Tool:
        """Return the tool.

        Raises:
            Refused: the server has no such tool that may be called.
        """
        tools = {tool.name: tool for tool in await self._servers.tools(self.name)}
        if self._tool not in tools:
            raise Refused(f"{self.name} has no tool {self._tool!r} that may be called")
        return tools[self._tool]

    def _arguments(self, tool: Tool, request: WebSearchRequest) -> dict[str, object]:
        """Return the arguments of a search.

        Raises:
            Refused: none of them is a query.
        """
        known: Mapping[str, Any] = tool.parameters.get("properties", {})
        needed = tool.parameters.get("required", [])
        query = next((name for name in (*_QUERIES, *(needed if len(needed) == 1 else ())) if name in known), None)
        if query is None:
            raise Refused(f"the tool {tool.name!r} of {self.name} takes no query")
        counts: dict[str, object] = {name: request.k for name in _COUNTS if name in known}
        return {query: restricted(request)} | dict(list(counts.items())[:1])


def _results(answer: Answer) -> list[Found]:
    """Return the pages in an answer, by the first form that has some."""
    if results := listed(answer.structured):
        return results
    for text in answer.texts:
        try:
            value = parsed(text.encode())
        except ValueError:
            continue  # no JSON: words, whose links are taken below
        if results := listed(value):
            return results
    named = [found(link.address, link.title, link.description) for link in answer.links]
    return named or [result for text in answer.texts for result in linked(text)]
