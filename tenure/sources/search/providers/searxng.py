"""Search with a SearXNG instance, a self-hosted metasearch engine."""

import re

import httpx
from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import (
    SearchRefused,
    SearchResult,
    SearchUnavailable,
    add_site_operators,
    build_result,
    parse_primary_language,
)

_REGION = re.compile(r"[a-z]{2,3}-[A-Z]{2}")  # "de-AT".
_MAX_PAGES = 3
"""Maximum number of result pages per search; a page has ten results or more."""


class _Result(BaseModel):
    url: str | None = None
    title: str | None = None
    content: str | None = None
    publishedDate: str | None = None


class _Reply(BaseModel):
    results: list[_Result]
    unresponsive_engines: list[tuple[str, str]] = []


class Searxng(ApiProvider):
    """A SearXNG instance with the JSON format enabled.

    Time range, language and the exclusion of adult content are passed to its engines; domains become `site:`
    operators. The instance sets the number of results per page.
    """

    description = "a SearXNG instance of your own, which queries many search engines"

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return results, page by page until there are enough."""
        results: dict[str, SearchResult] = {}
        for page in range(1, _MAX_PAGES + 1):
            reply = await self._fetch_page(request, page)
            count = len(results)
            for result in reply.results:
                results.setdefault(
                    result.url or "", build_result(result.url, result.title, result.content, result.publishedDate)
                )
            if len(results) >= request.k or len(results) == count:
                break
        return list(results.values())

    async def _fetch_page(self, request: WebSearchRequest, page: int) -> _Reply:
        params: dict[str, str | int] = {
            "q": add_site_operators(request),
            "format": "json",
            "categories": "general",
            "pageno": page,
            "time_range": request.time_range or "",
            "language": _to_searxng_language(request.language),
            "safesearch": 1,
        }
        try:
            reply = self._client.parse(_Reply, await self._client.get("/search", params))
        except SearchRefused as error:
            if error.status == httpx.codes.FORBIDDEN:
                raise SearchRefused("searxng returns no JSON: add `json` to `search.formats` in its settings") from None
            raise
        if page == 1 and not reply.results and reply.unresponsive_engines:
            engines = ", ".join(": ".join(engine) for engine in reply.unresponsive_engines)
            raise SearchUnavailable(f"searxng found nothing, and some of its engines did not respond ({engines[:300]})")
        return reply


def _to_searxng_language(tag: str) -> str:
    """Return the language code of SearXNG for a BCP 47 tag: a language, or a language and a region."""
    return tag if _REGION.fullmatch(tag) else parse_primary_language(tag) or "all"
