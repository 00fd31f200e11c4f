"""Search Crossref: the register of DOIs of journals, books and conferences."""

from typing import Final

from pydantic import BaseModel, Field

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import SearchResult, build_result, format_first_day

_FIELDS: Final = "DOI,URL,title,abstract,issued"


class _Date(BaseModel):
    parts: list[list[int | None]] = Field(default=[], alias="date-parts")

    @property
    def text(self) -> str:
        """Date in ISO 8601, as precise as it is known."""
        numbers = [part for part in (self.parts or [[]])[0] if part is not None]
        return "-".join(f"{part:02d}" for part in numbers)


class _Work(BaseModel):
    URL: str | None = None
    title: list[str] = []
    abstract: str | None = None
    issued: _Date = _Date()


class _Message(BaseModel):
    items: list[_Work]


class _Reply(BaseModel):
    message: _Message


class Crossref(ApiProvider):
    """The works of Crossref, each by its DOI.

    The time range filters by date of publication. Language, domains and safe search are not supported. A DOI leads to
    the publisher, whose page often shows only the abstract. Requests with a contact address are answered faster.
    """

    description = "works with a DOI; `TENURE_SEARCH_CONTACT` makes it faster"
    base_url = "https://api.crossref.org"

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return works with a DOI."""
        since = format_first_day(request)
        params: dict[str, str | int] = {
            "query": request.query,
            "rows": request.k,
            "select": _FIELDS,
            "filter": f"from-pub-date:{since}" if since else "",
            "mailto": self._client.contact,
        }
        reply = self._client.parse(_Reply, await self._client.get("/works", params))
        return [
            build_result(work.URL, " ".join(work.title), work.abstract, work.issued.text)
            for work in reply.message.items
        ]
