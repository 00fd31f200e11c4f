"""Crossref, the register of the DOIs of journals, books and conferences."""

from datetime import UTC, datetime
from typing import Final

from pydantic import BaseModel, Field

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, found, oldest
from tenure.sources.search.service import Service

_FIELDS: Final = "DOI,URL,title,abstract,issued"


class _Date(BaseModel):
    parts: list[list[int | None]] = Field(default=[], alias="date-parts")

    @property
    def written(self) -> str:
        """The date, as far as it is known."""
        known = [part for part in (self.parts or [[]])[0] if part is not None]
        return "-".join(f"{part:02d}" for part in known)


class _Work(BaseModel):
    URL: str | None = None
    title: list[str] = []
    abstract: str | None = None
    issued: _Date = _Date()


class _Message(BaseModel):
    items: list[_Work]


class _Reply(BaseModel):
    message: _Message


class Crossref:
    """The works that Crossref knows, each by its DOI.

    A time range becomes the first date of publication. Languages, domains and safe search cannot be asked for. A DOI
    leads to the publisher, who often shows an abstract only.
    """

    name = "crossref"
    domains = ()

    def __init__(self, service: Service) -> None:
        """Ask the API behind `service`, whose contact is told, since who tells one is answered faster."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return works."""
        since = oldest(request.time_range, datetime.now(UTC).date()).isoformat() if request.time_range else ""
        params: dict[str, str | int] = {
            "query": request.query,
            "rows": request.k,
            "select": _FIELDS,
            "filter": f"from-pub-date:{since}" if since else "",
            "mailto": self._service.contact,
        }
        reply = self._service.read(_Reply, await self._service.get("/works", params))
        return [
            found(work.URL, " ".join(work.title), work.abstract, work.issued.written) for work in reply.message.items
        ]
