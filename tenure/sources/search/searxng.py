"""SearXNG, the search engine of search engines that one runs oneself."""

import re

import httpx
from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, Refused, Unavailable, found, primary, restricted
from tenure.sources.search.service import Service

_REGION = re.compile(r"[a-z]{2,3}-[A-Z]{2}")
_PAGES = 3
"""Pages that are asked for at the most; one has ten results or more."""


class _Result(BaseModel):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    publishedDate: str | None = None


class _Reply(BaseModel):
    results: list[_Result]
    unresponsive_engines: list[tuple[str, str]] = []


class Searxng:
    """A SearXNG instance with the JSON format enabled.

    Time range, language and safe search go to those of its engines that know them; domains become the operator
    `site:`, which most engines of the whole web understand. The number of results is the instance's own.
    """

    name = "searxng"
    domains = ()

    def __init__(self, service: Service) -> None:
        """Ask the instance behind `service`."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return what the instance's engines offer, page by page until there is enough."""
        results: dict[str, Found] = {}
        for page in range(1, _PAGES + 1):
            reply = await self._page(request, page)
            known = len(results)
            for result in reply.results:
                results.setdefault(
                    result.url or "", found(result.url, result.title, result.content, result.publishedDate)
                )
            if len(results) >= request.k or len(results) == known:
                break
        return list(results.values())

    async def _page(self, request: WebSearchRequest, page: int) -> _Reply:
        """Return one page of results.

        Raises:
            Unavailable: there is nothing on the first page, and not all engines were heard.
        """
        params: dict[str, str | int] = {
            "q": restricted(request),
            "format": "json",
            "categories": "general",
            "pageno": page,
            "time_range": request.time_range or "",
            "language": _language(request.language),
            "safesearch": 1 if request.safe else 0,
        }
        try:
            reply = self._service.read(_Reply, await self._service.get("/search", params))
        except Refused as refused:
            if refused.status == httpx.codes.FORBIDDEN:
                raise Refused("searxng gives no JSON: add `json` to `search.formats` in its settings") from None
            raise
        if page == 1 and not reply.results and reply.unresponsive_engines:
            silent = ", ".join(": ".join(engine) for engine in reply.unresponsive_engines)
            raise Unavailable(f"searxng found nothing, and some of its engines did not answer ({silent[:300]})")
        return reply


def _language(tag: str) -> str:
    """Return a language as SearXNG takes it, with a region at the most; it refuses any other form."""
    return tag if _REGION.fullmatch(tag) else primary(tag) or "all"
