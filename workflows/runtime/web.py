"""Looking something up on the web: engines are asked, pages are fetched, and read into the run's own corpus.

Text stays where it is: engines' offers and what became of pages travel, the pages themselves go from the
page cache into the knowledge base. What cannot be had is kept with them, so that the report can say so.
"""

from datetime import timedelta
from typing import Any, NamedTuple

from temporalio import workflow
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

from workflows.runtime.activity_options import OUTAGE, PATIENCE, SILENCE
from workflows.runtime.control import Steered
from workflows.runtime.task_queues import BROWSER_QUEUE, EMBED_QUEUE, WEB_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from activities.web import BrowserActivities, WebActivities
    from tenure.algorithms.retrieval.link_check import confirmed, forbidden, is_web
    from tenure.contracts.base import SourceId
    from tenure.contracts.evidence.web import (
        FetchedPage,
        FetchRequest,
        ReadPagesReply,
        ReadPagesRequest,
        WebHit,
        WebScope,
        WebSearchReply,
        WebSearchRequest,
        WebSource,
    )
    from tenure.contracts.result.result import Result

OFFERS = 3
"""Addresses asked for, for each page that is to be read: some are read already, some cannot be had."""

MOST_CONFIRMED = 100
"""References whose pages are looked for at the end."""

AT_HAND = ("fetched", "unchanged", "cached")
"""What became of pages whose body is in the page cache."""

UNSERVED = timedelta(minutes=1)
"""Time after which nobody is taken to serve the queue of browsers."""

UNHURRIED: dict[str, Any] = {
    "start_to_close_timeout": timedelta(minutes=15),
    "schedule_to_close_timeout": OUTAGE,
    "heartbeat_timeout": SILENCE,
    "retry_policy": PATIENCE,
}
"""Retries without a count: what fails here is a worker or the knowledge base, never a page or an engine."""


class PageRead(NamedTuple):
    """What came of reading one page."""

    sources: tuple[SourceId, ...] = ()
    """The sources that it became; none where it was one before."""
    problem: str = ""
    """Why it was not read; empty where it was."""


class Web:
    """The web as one workflow sees it."""

    def __init__(self, steered: Steered, scope: WebScope) -> None:
        """Read what `scope` allows."""
        self._steered = steered
        self._scope = scope
        self._asked: set[str] = set()
        self._seen: set[str] = set()

    async def open(self) -> None:
        """Make the corpus, so that it can be searched also when no page is read."""
        nothing = ReadPagesRequest(corpus=self._scope.corpus, query="", cycle=self._scope.cycle)
        await self._read(nothing, "no page yet")

    async def confirm(self, result: Result) -> Result:
        """Return a result whose references say whether their pages are still there, and where an archive has them."""
        addresses = [source.uri for source in result.sources if is_web(source.uri)][:MOST_CONFIRMED]
        if not addresses:
            return result
        request = FetchRequest(run=self._scope.run, addresses=tuple(addresses), confirm=True)
        reply = await workflow.execute_activity_method(
            WebActivities.fetch_pages, request, task_queue=WEB_QUEUE, summary="are the references there", **UNHURRIED
        )
        return confirmed(result, reply.pages, self._scope.archive)

    async def look_up(self, query: str) -> int:
        """Read the best pages on a query that were not read before; return how many were read.

        The same words are looked up once, and nothing is looked up for a run that is to finish.
        """
        await self._steered.ready()
        if query in self._asked or self._steered.finishing:
            return 0
        self._asked.add(query)
        found = await self._search(query)
        fetched = await self._fetch([hit for hit in found.hits if hit.address not in self._seen], query)
        request = ReadPagesRequest(
            corpus=self._scope.corpus,
            query=query,
            cycle=self._scope.cycle,
            hits=found.hits,
            fetched=tuple(fetched),
            answers=found.answers,
        )
        read = await self._read(request, query)
        return len(read.sources) + (len(await self._show(read.wordless, query)) if read.wordless else 0)

    async def read(self, address: str, query: str) -> PageRead:
        """Read one page whose address is known, where the run may read its domain.

        A page that was read before is no new source, and nothing is wrong with that.
        """
        await self._steered.ready()
        if problem := self._forbidden(address):
            return PageRead(problem=problem)
        fetch = FetchRequest(run=self._scope.run, addresses=(address,))
        reply = await workflow.execute_activity_method(
            WebActivities.fetch_pages, fetch, task_queue=WEB_QUEUE, summary=address[:200], **UNHURRIED
        )
        (page,) = reply.pages
        if page.status not in AT_HAND:
            return PageRead(problem=f"{address} could not be read: {page.note}")
        if problem := self._forbidden(page.page):
            return PageRead(problem=f"{address} leads elsewhere: {problem}")
        self._seen.add(address)
        request = ReadPagesRequest(corpus=self._scope.corpus, query=query, cycle=self._scope.cycle, fetched=reply.pages)
        read = await self._read(request, address)
        shown = await self._show(read.wordless, query) if read.wordless else ()
        left_out = "" if read.sources or shown else "; ".join(one.note for one in read.left_out)
        return PageRead(sources=tuple(one.source for one in (*read.sources, *shown)), problem=left_out)

    def _forbidden(self, address: str) -> str:
        return forbidden(address, self._scope.domains, self._scope.excluded_domains)

    async def _show(self, addresses: tuple[str, ...], query: str) -> tuple[WebSource, ...]:
        """Have a browser show pages that say nothing without one; return those of them that were read then."""
        request = FetchRequest(run=self._scope.run, addresses=addresses)
        try:
            reply = await workflow.execute_activity_method(
                BrowserActivities.show_pages,
                request,
                task_queue=BROWSER_QUEUE,
                summary=query[:200],
                schedule_to_start_timeout=UNSERVED,
                **UNHURRIED,
            )
        except ActivityError as error:
            if not isinstance(error.cause, TimeoutError) or error.cause.type != TimeoutType.SCHEDULE_TO_START:
                raise
            # Nobody serves the queue, or not now: these pages stay what they were without a browser.
            return ()
        shown = tuple(page for page in reply.pages if page.status == "fetched")
        again = ReadPagesRequest(
            corpus=self._scope.corpus, query=query, cycle=self._scope.cycle, fetched=shown, shown=True
        )
        return (await self._read(again, query)).sources if shown else ()

    async def _read(self, request: ReadPagesRequest, summary: str) -> ReadPagesReply:
        await self._steered.ready()
        return await workflow.execute_activity_method(
            KnowledgeActivities.read_pages, request, task_queue=EMBED_QUEUE, summary=summary[:200], **UNHURRIED
        )

    async def _search(self, query: str) -> WebSearchReply:
        scope = self._scope
        request = WebSearchRequest(
            query=query,
            k=min(50, scope.pages * OFFERS),
            providers=scope.providers,
            time_range=scope.time_range,
            domains=scope.domains,
            excluded_domains=scope.excluded_domains,
            language=scope.language,
        )
        return await workflow.execute_activity_method(
            WebActivities.search_web, request, task_queue=WEB_QUEUE, summary=query[:200], **UNHURRIED
        )

    async def _fetch(self, offers: list[WebHit], query: str) -> list[FetchedPage]:
        """Fetch the best offers, and the next best in the place of those that cannot be had."""
        fetched: list[FetchedPage] = []
        while offers and (missing := self._scope.pages - sum(page.status in AT_HAND for page in fetched)):
            batch, offers = offers[:missing], offers[missing:]
            await self._steered.ready()
            request = FetchRequest(run=self._scope.run, addresses=tuple(hit.address for hit in batch))
            reply = await workflow.execute_activity_method(
                WebActivities.fetch_pages, request, task_queue=WEB_QUEUE, summary=query[:200], **UNHURRIED
            )
            fetched += reply.pages
        self._seen.update(page.address for page in fetched)
        return fetched
