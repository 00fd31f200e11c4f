"""arXiv, preprints of physics, mathematics and computer science."""

from datetime import UTC, datetime
from typing import Final

from tenure.algorithms.text.sentences import STOP_WORDS, words
from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.base import Found, Unavailable, oldest
from tenure.sources.search.feeds import document, entries, local
from tenure.sources.search.service import Service

_MOST_WORDS: Final = 16


class Arxiv:
    """The API of arXiv.

    A time range becomes a range of submission dates. Its papers are in English but for a few, and it has no safe
    search; neither can be asked for. It finds any of a query's content words and puts those first that have most.
    """

    name = "arxiv"
    domains = ("arxiv.org",)

    def __init__(self, service: Service) -> None:
        """Ask the API behind `service`."""
        self._service = service

    async def search(self, request: WebSearchRequest) -> list[Found]:
        """Return papers, each by the page of its abstract."""
        asked = [word for word in dict.fromkeys(words(request.query)) if word not in STOP_WORDS][:_MOST_WORDS]
        if not asked:
            return []
        params: dict[str, str | int] = {
            "search_query": f"({' OR '.join(f'all:{word}' for word in asked)}){_submitted(request)}",
            "max_results": request.k,
            "sortBy": "relevance",
        }
        try:
            feed = document(await self._service.get("/api/query", params))
        except ValueError as error:
            raise self._service.unexpected() from error
        if local(feed) != "feed":
            raise self._service.unexpected()
        results = entries(feed)
        if any("/api/errors" in result.address for result in results):
            raise Unavailable("arxiv answered with an error of its own")
        return results


def _submitted(request: WebSearchRequest) -> str:
    """Return the part of a query that bounds the age of papers."""
    if request.time_range is None:
        return ""
    today = datetime.now(UTC).date()
    return f" AND submittedDate:[{oldest(request.time_range, today):%Y%m%d}0000 TO {today:%Y%m%d}2359]"
