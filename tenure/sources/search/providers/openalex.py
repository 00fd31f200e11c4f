"""Search OpenAlex: an open catalogue of papers, books and data sets."""

import re
from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import SearchResult, build_result, format_first_day, parse_primary_language

_FIELDS: Final = "id,doi,display_name,publication_date,best_oa_location,primary_location,abstract_inverted_index"
_OPERATORS: Final = re.compile(r"[?*~|!\"()]+|\b(?:AND|OR|NOT)\b")
"""Operators of its query syntax, which are removed."""
_MAX_ABSTRACT_WORDS: Final = 400


class _Location(BaseModel):
    landing_page_url: str | None = None
    pdf_url: str | None = None


class _Work(BaseModel):
    id: str | None = None
    doi: str | None = None
    display_name: str | None = None
    publication_date: str | None = None
    best_oa_location: _Location | None = None
    primary_location: _Location | None = None
    abstract_inverted_index: dict[str, list[int]] | None = None

    @property
    def url(self) -> str | None:
        """URL of the open-access text, else of the landing page, the DOI, or the record of OpenAlex."""
        free, first = self.best_oa_location or _Location(), self.primary_location or _Location()
        return free.pdf_url or free.landing_page_url or first.landing_page_url or self.doi or self.id

    @property
    def abstract(self) -> str:
        """Abstract, restored from its inverted index."""
        index = (self.abstract_inverted_index or {}).items()
        return " ".join(
            word
            for _, word in sorted((at, word) for word, offsets in index for at in offsets if at < _MAX_ABSTRACT_WORDS)
        )


class _Reply(BaseModel):
    results: list[_Work]


class OpenAlex(ApiProvider):
    """The works of OpenAlex; without a key, the number of searches per day is small.

    Time range and language are filters. Domains and safe search are not supported.
    """

    description = "papers, books and data sets"
    base_url = "https://api.openalex.org"
    key = "optional"

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return works; the URL is the open-access text if there is one."""
        params: dict[str, str | int] = {
            "search": " ".join(_OPERATORS.sub(" ", request.query).split()),
            "per_page": request.k,
            "filter": ",".join(_build_filters(request)),
            "select": _FIELDS,
            "api_key": self._client.key_text,
        }
        reply = self._client.parse(_Reply, await self._client.get("/works", params))
        return [
            build_result(work.url, work.display_name, work.abstract, work.publication_date) for work in reply.results
        ]


def _build_filters(request: WebSearchRequest) -> list[str]:
    since = format_first_day(request)
    filters = {"from_publication_date": since, "language": parse_primary_language(request.language)}
    return [f"{name}:{value}" for name, value in filters.items() if value]
