"""Search with Tavily, a web search API for language models."""

from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import SearchResult, build_result, truncate_query

_MAX_RESULTS: Final = 20
_MAX_QUERY_LENGTH: Final = 400


class _Result(BaseModel):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    published_date: str | None = None


class _Reply(BaseModel):
    results: list[_Result]


class Tavily(ApiProvider):
    """The web search of Tavily.

    Time range and domains are parameters. Language and, on ordinary plans, safe search are not supported. A query has
    at most 400 characters, a response at most twenty results.
    """

    description = "the web search of Tavily"
    base_url = "https://api.tavily.com"
    key = "required"

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return pages of the web."""
        body: dict[str, object] = {
            "query": truncate_query(request.query, _MAX_QUERY_LENGTH),
            "max_results": min(request.k, _MAX_RESULTS),
            "search_depth": "basic",
        }
        if request.time_range:
            body["time_range"] = request.time_range
        if request.domains:
            body["include_domains"] = list(request.domains)
        if request.excluded_domains:
            body["exclude_domains"] = list(request.excluded_domains)
        reply = self._client.parse(_Reply, await self._client.post("/search", body, self._client.bearer_header))
        return [build_result(hit.url, hit.title, hit.content, hit.published_date) for hit in reply.results]
