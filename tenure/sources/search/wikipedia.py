"""Wikipedia, by the search of its own software."""

from typing import Final
from urllib.parse import quote

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, Unavailable, found, primary, shortened
from tenure.sources.search.service import Service

_LONGEST: Final = 300
"""Characters of a query that MediaWiki takes."""
_DEFAULT: Final = "en"


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


class Wikipedia:
    """The encyclopedia in the wanted language, in English where none is named.

    Its pages change all the time and have no date of publication, so that a time range cannot be asked for. There is
    no safe search.
    """

    name = "wikipedia"
    domains = ("wikipedia.org",)

    def __init__(self, service: Service) -> None:
        """Ask the wikis behind `service`, whose address has `{language}` where that belongs."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return the articles that the wiki's full-text search offers."""
        language = primary(request.language) or _DEFAULT
        params: dict[str, str | int] = {
            "action": "query",
            "list": "search",
            "srsearch": shortened(request.query, _LONGEST),
            "srlimit": request.k,
            "srprop": "snippet",
            "format": "json",
            "formatversion": 2,
        }
        base = self._service.base.replace("{language}", language)
        reply = self._service.read(_Reply, await self._service.get("/w/api.php", params, base=base))
        if reply.error:
            raise Unavailable(f"wikipedia answered with the error {reply.error.code[:40]}")
        if reply.query is None:
            raise self._service.unexpected()
        home = f"https://{language}.wikipedia.org/wiki/"
        return [
            found(home + quote(page.title.replace(" ", "_")), page.title, page.snippet) for page in reply.query.search
        ]
