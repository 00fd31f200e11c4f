"""Look up queries on the web: search providers are asked, pages are fetched and read into the run's own corpus.

Texts do not travel through Temporal: workflows see search hits and the status of pages, while the pages themselves go
from the page cache into the knowledge base. Pages that could not be read are recorded there for the report.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.call_record import ActivityClient
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from activities.web import BrowserActivities, WebActivities
    from tenure.algorithms.text.questions import shorten
    from tenure.algorithms.text.urls import find_domain_violation
    from tenure.contracts.base import SourceId
    from tenure.contracts.evidence.web import (
        MAX_WEB_QUERY_CHARACTERS,
        FetchedPage,
        FetchRequest,
        ReadPagesReply,
        ReadPagesRequest,
        WebHit,
        WebLimits,
        WebScope,
        WebSearchReply,
        WebSearchRequest,
        WebSource,
    )

HITS_PER_PAGE = 3
"""Search hits requested for each page to read: some are known already, some cannot be fetched."""


CACHED_STATUSES = ("fetched", "unchanged", "cached")
"""Statuses of pages whose body is in the page cache."""


class PageRead(NamedTuple):
    """Result of reading one page."""

    sources: tuple[SourceId, ...] = ()
    """Sources built from the page; empty if it was a source before."""
    problem: str = ""
    """Reason why the page was not read; empty if it was."""


@dataclass
class WebClient(ActivityClient):
    """Client for the web."""

    _scope: WebScope
    _question: str
    """Question of a person, whose addresses may be read."""
    _queries: set[str] = field(default_factory=set)
    _urls: set[str] = field(default_factory=set)

    async def open(self, *, reads_named: bool = False) -> None:
        """Create the corpus of the run's web pages, so that it can be searched even if no page is read.

        Pages that the person names are read if requested; the account of the web has those that cannot be read.
        """
        empty = ReadPagesRequest(corpus=self._scope.corpus, query="", cycle=self._scope.cycle)
        await self._ingest(empty, "no page yet")
        if reads_named and self._scope.urls:
            await self._read_named()

    async def _read_named(self) -> None:
        fetch = self._build_fetch(self._scope.urls)
        with self._progress.track_long_step():
            reply = await execute_activity(WebActivities.fetch_pages, fetch, summary=", ".join(fetch.urls))
        self._urls.update(fetch.urls)
        request = ReadPagesRequest(
            corpus=self._scope.corpus, query=self._question, cycle=self._scope.cycle, fetched=reply.pages
        )
        await self._read(request, "pages that the question names")

    async def look_up(self, query: str) -> None:
        """Read the best pages on a query that were not read before.

        Each query is looked up once, and none for a run that is finishing.
        """
        await self._workflow.wait_while_paused()
        if query in self._queries or self._workflow.is_finishing:
            return
        self._queries.add(query)
        with self._progress.track_long_step():
            results = await self._search(query)
            fetched = await self._fetch([hit for hit in results.hits if hit.url not in self._urls], query)
        request = ReadPagesRequest(
            corpus=self._scope.corpus,
            query=query,
            cycle=self._scope.cycle,
            hits=results.hits,
            fetched=tuple(fetched),
            outcomes=results.outcomes,
        )
        await self._read(request, query)

    async def read(self, url: str, query: str) -> PageRead:
        """Read one page whose URL is known, if the run may read its domain.

        A page that was read before is neither a new source nor a problem.
        """
        await self._workflow.wait_while_paused()
        if problem := self._find_violation(url):
            return PageRead(problem=problem)
        fetch = self._build_fetch((url,))
        with self._progress.track_long_step():
            reply = await execute_activity(WebActivities.fetch_pages, fetch, summary=url)
        (page,) = reply.pages
        if page.status not in CACHED_STATUSES:
            return PageRead(problem=f"{url} could not be read: {page.note}")
        if problem := self._find_violation(page.canonical_url):
            return PageRead(problem=f"{url} redirects to another page: {problem}")
        self._urls.add(url)
        request = ReadPagesRequest(corpus=self._scope.corpus, query=query, cycle=self._scope.cycle, fetched=reply.pages)
        sources, left_out = await self._read(request, url)
        problem = "" if sources else "; ".join(source.note for source in left_out)
        return PageRead(sources=tuple(source.source for source in sources), problem=problem)

    def _build_fetch(self, urls: Sequence[str]) -> FetchRequest:
        scope = self._scope
        return FetchRequest(
            run=scope.run, urls=tuple(urls), domains=scope.domains, excluded_domains=scope.excluded_domains
        )

    def _find_violation(self, url: str) -> str:
        return find_domain_violation(url, self._scope.domains, self._scope.excluded_domains)

    async def _read(
        self, request: ReadPagesRequest, summary: str
    ) -> tuple[tuple[WebSource, ...], tuple[WebSource, ...]]:
        """Read fetched pages, those without text by a browser; return the new sources and the pages left out."""
        reply = await self._ingest(request, summary)
        rendered = await self._render(reply.unrendered, request.query) if reply.unrendered else ()
        sources = (*reply.sources, *rendered)
        usage = self._record.usage
        self._record.usage = usage.model_copy(update={"pages": usage.pages + len(sources)})
        return sources, reply.left_out

    async def _render(self, urls: tuple[str, ...], query: str) -> tuple[WebSource, ...]:
        """Let a browser render pages that have no text without scripts; return the sources built from them.

        Pages that were not rendered are recorded as left out, with the reason.
        """
        request = self._build_fetch(urls)
        failures: list[str] = []
        rendering = execute_activity(BrowserActivities.render_pages, request, summary=query)
        failure = "It has no text without scripts, and no browser rendered it"
        reply = await run_optional_step(rendering, None, failure, failures.append, MODEL_STEP_LIMIT)
        lost = tuple(FetchedPage(url=url, status="failed", note=note) for note in failures for url in urls)
        again = ReadPagesRequest(
            corpus=self._scope.corpus,
            query=query,
            cycle=self._scope.cycle,
            fetched=lost if reply is None else tuple(page for page in reply.pages if page.status == "fetched"),
            rendered=True,
        )
        return (await self._ingest(again, query)).sources if again.fetched else ()

    async def _ingest(self, request: ReadPagesRequest, summary: str) -> ReadPagesReply:
        await self._workflow.wait_while_paused()
        return await execute_activity(KnowledgeActivities.read_pages, request, summary=summary)

    async def _search(self, query: str) -> WebSearchReply:
        scope = self._scope
        request = WebSearchRequest(
            query=shorten(query, MAX_WEB_QUERY_CHARACTERS),
            question=self._question,
            k=min(50, scope.max_pages * HITS_PER_PAGE),
            **{name: getattr(scope, name) for name in WebLimits.model_fields},
        )
        return await execute_activity(WebActivities.search_web, request, summary=query)

    async def _fetch(self, hits: list[WebHit], query: str) -> list[FetchedPage]:
        """Fetch the pages of the best hits, and those of the next best in place of pages that cannot be fetched."""
        fetched: list[FetchedPage] = []
        while hits and (missing := self._scope.max_pages - sum(page.status in CACHED_STATUSES for page in fetched)):
            batch, hits = hits[:missing], hits[missing:]
            await self._workflow.wait_while_paused()
            request = self._build_fetch([hit.url for hit in batch])
            reply = await execute_activity(WebActivities.fetch_pages, request, summary=query)
            fetched += reply.pages
        self._urls.update(page.url for page in fetched)
        return fetched
