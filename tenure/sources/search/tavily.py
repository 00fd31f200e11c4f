"""Tavily, a search engine for programs that read."""

from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, found, shortened
from tenure.sources.search.service import Service

_MOST: Final = 20
_LONGEST: Final = 400


class _Result(BaseModel):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    published_date: str | None = None


class _Reply(BaseModel):
    results: list[_Result]


class Tavily:
    """The search of Tavily; needs a key.

    Time range and domains are parameters. It knows neither languages nor, on its ordinary plans, safe search; a
    query may have 400 characters and an answer twenty results.
    """

    name = "tavily"
    domains = ()

    def __init__(self, service: Service) -> None:
        """Ask the API behind `service`."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return what it offers."""
        body: dict[str, object] = {
            "query": shortened(request.query, _LONGEST),
            "max_results": min(request.k, _MOST),
            "search_depth": "basic",
        }
        if request.time_range:
            body["time_range"] = request.time_range
        if request.domains:
            body["include_domains"] = list(request.domains)
        if request.excluded_domains:
            body["exclude_domains"] = list(request.excluded_domains)
        reply = self._service.read(_Reply, await self._service.post("/search", body, self._service.bearer))
        return [found(hit.url, hit.title, hit.content, hit.published_date) for hit in reply.results]
