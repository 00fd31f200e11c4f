"""Search arXiv: preprints of physics, mathematics and computer science."""

from datetime import UTC, datetime
from typing import Final

from lxml.etree import QName

from tenure.algorithms.text.sentences import STOP_WORDS, split_words
from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_provider import ApiProvider
from tenure.sources.search.feeds import parse_xml, read_entries
from tenure.sources.search.provider import SearchResult, SearchUnavailable, compute_first_day

_MAX_WORDS: Final = 16


class Arxiv(ApiProvider):
    """The API of arXiv.

    The time range filters by date of submission. Language and safe search are not supported. A paper matches if it
    contains any content word of the query; papers with more of them rank higher.
    """

    description = "preprints of physics, mathematics and computer science"
    base_url = "https://export.arxiv.org"
    min_interval = 3.0
    domains = ("arxiv.org",)

    async def search(self, request: WebSearchRequest) -> list[SearchResult]:
        """Return papers; each URL is the page of the abstract."""
        terms = [word for word in dict.fromkeys(split_words(request.query)) if word not in STOP_WORDS][:_MAX_WORDS]
        if not terms:
            return []
        params: dict[str, str | int] = {
            "search_query": f"({' OR '.join(f'all:{word}' for word in terms)}){_format_date_range(request)}",
            "max_results": request.k,
            "sortBy": "relevance",
        }
        try:
            feed = parse_xml(await self._client.get("/api/query", params))
        except ValueError as error:
            raise self._client.build_parse_error() from error
        if QName(feed).localname != "feed":
            raise self._client.build_parse_error()
        results = read_entries(feed)
        if any("/api/errors" in result.url for result in results):
            raise SearchUnavailable("arxiv returned an error")
        return results


def _format_date_range(request: WebSearchRequest) -> str:
    if request.time_range is None:
        return ""
    today = datetime.now(UTC).date()
    return f" AND submittedDate:[{compute_first_day(request.time_range, today):%Y%m%d}0000 TO {today:%Y%m%d}2359]"
