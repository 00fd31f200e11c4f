"""OpenAlex, an open catalogue of the world's papers, books and data sets."""

import re
from datetime import UTC, datetime
from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, found, oldest, primary
from tenure.sources.search.service import Service

_FIELDS: Final = "id,doi,display_name,publication_date,best_oa_location,primary_location,abstract_inverted_index"
_OPERATORS: Final = re.compile(r"[?*~|!\"()]+|\b(?:AND|OR|NOT)\b")
"""What its search would read as more than words."""
_LAST_WORD: Final = 400
"""Words of an abstract that are put together."""


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
    def address(self) -> str | None:
        """Where the work can be read freely; else its page, its DOI, or what OpenAlex says of it."""
        free, first = self.best_oa_location or _Location(), self.primary_location or _Location()
        return free.pdf_url or free.landing_page_url or first.landing_page_url or self.doi or self.id

    @property
    def abstract(self) -> str:
        """Its abstract, put together from the places of its words."""
        places = (self.abstract_inverted_index or {}).items()
        return " ".join(
            word for _, word in sorted((at, word) for word, all_ in places for at in all_ if at < _LAST_WORD)
        )


class _Reply(BaseModel):
    results: list[_Work]


class OpenAlex:
    """The works of OpenAlex; without a key it answers some searches a day.

    A time range becomes the first date of publication, and a language a filter. Domains and safe search cannot be
    asked for.
    """

    name = "openalex"
    domains = ()

    def __init__(self, service: Service) -> None:
        """Ask the API behind `service`."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return works, those first that can be read freely by their text."""
        params: dict[str, str | int] = {
            "search": " ".join(_OPERATORS.sub(" ", request.query).split()),
            "per_page": request.k,
            "filter": ",".join(_filters(request)),
            "select": _FIELDS,
            "api_key": self._service.secret,
        }
        reply = self._service.read(_Reply, await self._service.get("/works", params))
        return [found(work.address, work.display_name, work.abstract, work.publication_date) for work in reply.results]


def _filters(request: WebSearchRequest) -> list[str]:
    """Return the filters that a request asks for."""
    since = oldest(request.time_range, datetime.now(UTC).date()).isoformat() if request.time_range else ""
    wanted = {"from_publication_date": since, "language": primary(request.language)}
    return [f"{name}:{value}" for name, value in wanted.items() if value]
