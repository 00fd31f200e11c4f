"""Search Wikipedia with the API of MediaWiki."""

from typing import Final
from urllib.parse import quote

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import (
    SearchResult,
    SearchUnavailable,
    build_result,
    parse_primary_language,
    truncate_query,
)

_MAX_QUERY_LENGTH: Final = 300
_DEFAULT_LANGUAGE: Final = "en"


class _Page(BaseModel):
    title: str
    snippet: str = ""


class _Query(BaseModel):
    search: list[_Page]


class _Error(BaseModel):
    code: str = ""


class _Reply(BaseModel):
    query: _Query | None = None
    error: _Error | None = None


class Wikipedia(ApiProvider):
    """The encyclopedia in the language of the request, by default in English.

    Articles have no date of publication, so a time range is not supported; neither is safe search.
    """

    description = "the encyclopedia in the language of the request"
    base_url = "https://{language}.wikipedia.org"
    domains = ("wikipedia.org",)

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return the articles that the full-text search finds."""
        language = parse_primary_language(request.language) or _DEFAULT_LANGUAGE
        params: dict[str, str | int] = {
            "action": "query",
            "list": "search",
            "srsearch": truncate_query(request.query, _MAX_QUERY_LENGTH),
            "srlimit": request.k,
            "srprop": "snippet",
            "format": "json",
            "formatversion": 2,
        }
        base = self._client.base_url.replace("{language}", language)
        reply = self._client.parse(_Reply, await self._client.get("/w/api.php", params, base_url=base))
        if reply.error:
            raise SearchUnavailable(f"wikipedia returned the error {reply.error.code[:40]}")
        if reply.query is None:
            raise self._client.build_parse_error()
        home = f"https://{language}.wikipedia.org/wiki/"
        return [
            build_result(home + quote(page.title.replace(" ", "_")), page.title, page.snippet)
            for page in reply.query.search
        ]
