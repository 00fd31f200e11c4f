"""Web activities: what search engines offer. On a queue of their own, since they wait for other people's servers."""

from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeat import heartbeating
from tenure.contracts.web import WebSearchReply, WebSearchRequest

if TYPE_CHECKING:
    from tenure.sources.search.ask import WebSearch

SEARCH_UNAVAILABLE = "SearchUnavailable"
"""No search provider answers now; they are asked again."""

SEARCH_ATTEMPTS = 2
"""Attempts after which it is an answer that nobody answered."""


class WebActivities:
    """The web, as one worker reaches it."""

    def __init__(self, engines: "WebSearch") -> None:
        """Search with `engines`."""
        self._engines = engines

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
