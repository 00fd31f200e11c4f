"""Search Semantic Scholar: a graph of papers of all fields."""

from typing import Final

from pydantic import BaseModel

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.provider import SearchResult, build_result, format_first_day

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
    def page_url(self) -> str | None:
        """URL of the open-access PDF, else of the page about the paper."""
        return (self.openAccessPdf.url if self.openAccessPdf else None) or self.url

    @property
    def published(self) -> str | None:
        """Date of publication, or its year."""
        return self.publicationDate or (str(self.year) if self.year else None)


class _Reply(BaseModel):
    total: int
    data: list[_Paper] = []


class SemanticScholar(ApiProvider):
    """The Academic Graph API; without a key, all clients share one rate limit, so that it seldom answers.

    The time range filters by date of publication. Language, domains and safe search are not supported.
    """

    description = "papers of all fields"
    base_url = "https://api.semanticscholar.org"
    key = "optional"
    min_interval = 1.0

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return papers."""
        since = format_first_day(request)
        params: dict[str, str | int] = {
            "query": request.query.replace("-", " "),  # the API finds nothing for a word with a hyphen
            "limit": request.k,
            "fields": _FIELDS,
            "publicationDateOrYear": f"{since}:" if since else "",
        }
        headers = {"x-api-key": self._client.key_text} if self._client.key else {}
        reply = self._client.parse(_Reply, await self._client.get("/graph/v1/paper/search", params, headers))
        return [build_result(paper.page_url, paper.title, paper.abstract, paper.published) for paper in reply.data]
