"""Search the web and fetch pages.

These activities have a task queue of their own, since they wait for foreign servers.
"""

from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.errors import translate_errors
from activities.heartbeat import send_heartbeats
from tenure.algorithms.text.known_urls import is_named_by_query
from tenure.contracts.evidence.web import (
    FetchedPage,
    FetchReply,
    FetchRequest,
    WebSearchReply,
    WebSearchRequest,
)

if TYPE_CHECKING:
    from tenure.knowledge.pages.fetching import PageFetching
    from tenure.sources.search.federated import FederatedSearch

SEARCH_UNAVAILABLE = "SearchUnavailable"
"""No search provider answers now; the search is retried."""

SEARCH_ATTEMPTS = 2
"""Attempts after which a search without an answering provider is reported as a result."""


class WebActivities:
    """Web activities of one worker."""

    def __init__(self, search: "FederatedSearch", pages: "PageFetching") -> None:
        self._search, self._pages = search, pages

    @activity.defn
    async def search_web(self, request: WebSearchRequest) -> WebSearchReply:
        """Query the search providers; after the last attempt a failure of all of them is a result.

        Raises:
            ApplicationError: no provider answered, and one may do so a moment later.
        """
        async with send_heartbeats():
            # Without the question, which no provider reads, runs on different questions share cached results.
            reply = await self._search.search(request.model_copy(update={"question": ""}))
        is_transient = reply.has_failed and any(outcome.transient for outcome in reply.outcomes)
        if is_transient and activity.info().attempt < SEARCH_ATTEMPTS:
            notes = "; ".join(outcome.note for outcome in reply.outcomes if outcome.transient)
            raise ApplicationError(notes, type=SEARCH_UNAVAILABLE)
        # A URL that a provider repeats from the query is no result: the model may have written it.
        hits = (hit for hit in reply.hits if not is_named_by_query(hit.url, request.query, request.question))
        return reply.model_copy(update={"hits": tuple(hits)})

    @activity.defn
    async def fetch_pages(self, request: FetchRequest) -> FetchReply:
        """Fetch pages into the page cache and return the status of each."""
        with translate_errors():
            async with send_heartbeats():
                return await self._pages.fetch(request)


class BrowserActivities:
    """Pages rendered by a browser, on a task queue of their own, since a browser needs memory."""

    def __init__(self, pages: "PageFetching | None") -> None:
        """Render `pages`; None if there is no browser."""
        self._pages = pages

    @activity.defn
    async def render_pages(self, request: FetchRequest) -> FetchReply:
        """Fetch pages into the page cache as they are after their scripts have run."""
        if self._pages is None:
            note = "it needs a browser, and none is configured: TENURE_BROWSER names one"
            return FetchReply(pages=tuple(FetchedPage(url=url, status="refused", note=note) for url in request.urls))
        with translate_errors():
            async with send_heartbeats():
                return await self._pages.fetch(request)
