"""Web activities: what search engines offer, and the pages behind it.

They are on a queue of their own, since they wait for other people's servers.
"""

from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.errors import translated
from activities.heartbeat import heartbeating
from tenure.contracts.evidence.web import (
    FetchedPage,
    FetchReply,
    FetchRequest,
    WebSearchReply,
    WebSearchRequest,
)

if TYPE_CHECKING:
    from tenure.knowledge.pages.fetching import PageFetching
    from tenure.sources.search.ask import WebSearch

SEARCH_UNAVAILABLE = "SearchUnavailable"
"""No search provider answers now; they are asked again."""

SEARCH_ATTEMPTS = 2
"""Attempts after which it is an answer that nobody answered."""


class WebActivities:
    """The web, as one worker reaches it."""

    def __init__(self, engines: "WebSearch", pages: "PageFetching") -> None:
        """Search with `engines`, and fetch `pages`."""
        self._engines, self._pages = engines, pages

    @activity.defn
    async def search_web(self, request: WebSearchRequest) -> WebSearchReply:
        """Ask search engines; that nobody answered is told, not raised, once it has been tried again.

        Raises:
            ApplicationError: nobody answered, and somebody may do so a moment later.
        """
        async with heartbeating():
            reply = await self._engines.search(request)
        passing = reply.failed and any(answer.passing for answer in reply.answers)
        if passing and activity.info().attempt < SEARCH_ATTEMPTS:
            notes = "; ".join(answer.note for answer in reply.answers if answer.passing)
            raise ApplicationError(notes, type=SEARCH_UNAVAILABLE)
        return reply

    @activity.defn
    async def fetch_pages(self, request: FetchRequest) -> FetchReply:
        """Fetch pages into the page cache; what has become of each is told, and none fails the others."""
        with translated():
            async with heartbeating():
                return await self._pages.fetch(request)


class BrowserActivities:
    """Pages as a browser shows them; on a queue of their own, since a browser needs memory."""

    def __init__(self, pages: "PageFetching | None") -> None:
        """Show `pages`; without them there is no browser."""
        self._pages = pages

    @activity.defn
    async def show_pages(self, request: FetchRequest) -> FetchReply:
        """Bring pages into the page cache as they are once their scripts have run."""
        if self._pages is None:
            return FetchReply(pages=tuple(map(_unshown, request.addresses)))
        with translated():
            async with heartbeating():
                return await self._pages.fetch(request)


def _unshown(address: str) -> FetchedPage:
    note = "it needs a browser, and none is set up: TENURE_BROWSER names one"
    return FetchedPage(address=address, status="refused", note=note)
