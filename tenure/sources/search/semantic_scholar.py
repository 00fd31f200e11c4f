"""Semantic Scholar, a graph of papers of all fields."""

from datetime import UTC, datetime
from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, found, oldest
from tenure.sources.search.service import Service

_FIELDS: Final = "title,abstract,url,year,publicationDate,openAccessPdf"


class _Pdf(BaseModel):
    url: str | None = None


class _Paper(BaseModel):
    title: str | None = None
    abstract: str | None = None
    url: str | None = None
    year: int | None = None
    publicationDate: str | None = None
    openAccessPdf: _Pdf | None = None

    @property
    def address(self) -> str | None:
        """Where the paper can be read; else the page about it."""
        return (self.openAccessPdf.url if self.openAccessPdf else None) or self.url

    @property
    def published(self) -> str | None:
        """Its date, or its year."""
        return self.publicationDate or (str(self.year) if self.year else None)


class _Reply(BaseModel):
    total: int
    data: list[_Paper] = []


class SemanticScholar:
    """The Academic Graph API; without a key it shares a rate with everybody else who has none.

    A time range becomes a range of publication dates. Languages, domains and safe search cannot be asked for. A paper
    that can be read freely is offered by its text, any other by the page about it.
    """

    name = "semantic_scholar"
    domains = ()

    def __init__(self, service: Service) -> None:
        """Ask the API behind `service`."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return papers; a hyphen would let the API find nothing."""
        params: dict[str, str | int] = {
            "query": request.query.replace("-", " "),
            "limit": request.k,
            "fields": _FIELDS,
            "publicationDateOrYear": _since(request),
        }
        headers = {"x-api-key": self._service.secret} if self._service.key else {}
        reply = self._service.read(_Reply, await self._service.get("/graph/v1/paper/search", params, headers))
        return [found(paper.address, paper.title, paper.abstract, paper.published) for paper in reply.data]


def _since(request: WebSearchRequest) -> str:
    """Return a range of dates that is open at its end; empty for any."""
    if request.time_range is None:
        return ""
    return f"{oldest(request.time_range, datetime.now(UTC).date()).isoformat()}:"
