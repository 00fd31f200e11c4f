"""Runs that read the web, with scripted search providers and pages."""

from dataclasses import dataclass, field

from temporalio import activity

from tenure.algorithms.text.known_urls import extract_urls
from tenure.contracts.evidence.web import (
    MAX_WEB_QUERY_CHARACTERS,
    FetchedPage,
    FetchReply,
    FetchRequest,
    ProviderOutcome,
    WebHit,
    WebScope,
    WebSearchReply,
    WebSearchRequest,
)
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge

QUESTION = "How is bread baked?"
BREAD = "https://bakery.example/bread"
LOST = "https://bakery.example/gone"
OTHER = "https://mill.example/flour"
PAGES = {
    BREAD: "Bread is baked in a hot oven for forty minutes.\n\nBefore it is baked, bread dough rises for two hours.",
    OTHER: "Bread flour is milled from wheat, and bread is baked from it.\n\nRye bread is baked longer than wheat.",
}
SCOPE = WebScope(max_pages=2, domains=("bakery.example", "mill.example"))
REQUEST = RunRequest(question=QUESTION, limits=RunLimits(min_relevance=0.05, max_sections=1, max_cycles=1, web=SCOPE))


@dataclass
class Outside:
    """A web of three URLs, one of which is gone; requests are recorded."""

    searches: list[WebSearchRequest] = field(default_factory=list)
    fetched: list[FetchRequest] = field(default_factory=list)
    down: bool = False
    echoes: bool = False
    """Whether URLs of a query are among its hits."""

    @activity.defn
    async def search_web(self, request: WebSearchRequest) -> WebSearchReply:
        return await self.search(request)

    async def search(self, request: WebSearchRequest) -> WebSearchReply:
        self.searches.append(request)
        if self.down:
            return WebSearchReply(outcomes=(ProviderOutcome(provider="searxng", status="failed", note="it is down"),))
        repeated = sorted(extract_urls(request.query)) if self.echoes else []
        hits = tuple(WebHit(url=address) for address in (*repeated, LOST, BREAD, OTHER))
        return WebSearchReply(hits=hits, outcomes=(ProviderOutcome(provider="searxng", status="answered", hits=3),))

    @activity.defn
    async def fetch_pages(self, request: FetchRequest) -> FetchReply:
        self.fetched.append(request)
        return FetchReply(
            pages=tuple(
                FetchedPage(url=address, status="fetched", canonical_url=address)
                if address in PAGES
                else FetchedPage(url=address, status="failed", note="404")
                for address in request.urls
            )
        )


@slow
async def test_run_cites_web_pages(serving: Serving) -> None:
    """Pages are found, fetched and read into a corpus of the run, and the report quotes and counts them."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=PAGES)
    async with serving(None, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        handle = await stage.start(REQUEST)
        result = await handle.result()

    assert result.status == "done"
    assert {source.uri for source in result.sources} <= set(PAGES) and result.sources
    assert result.usage.pages == 2
    assert {search.corpora for search in knowledge.searches} == {(f"web/{handle.id}",)}
    assert outside.searches[0].domains == SCOPE.domains
    assert result.web is not None and result.web.providers[0].answered


@slow
async def test_missing_page_is_replaced_and_queries_are_not_repeated(serving: Serving) -> None:
    """The next best hit replaces a missing page; each part of a run looks up a query once."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=PAGES)
    async with serving(None, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        await (await stage.start(REQUEST)).result()

    first, second = outside.fetched[:2]
    assert (first.urls, second.urls) == ((LOST, BREAD), (OTHER,))
    gone = [page for page in knowledge.readings[1].fetched if page.status == "failed"]
    assert [page.url for page in gone] == [LOST]


async def test_pages_that_a_person_names_are_read_first(serving: Serving) -> None:
    """They are fetched before the first search, also if no provider answers, and a missing page is recorded."""
    outside, knowledge = Outside(down=True), MemoryKnowledge({}, pages=PAGES)
    web = REQUEST.limits.web
    assert web is not None
    limits = REQUEST.limits.model_copy(update={"web": web.model_copy(update={"urls": (BREAD, LOST)})})
    async with serving(None, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        result = await (await stage.start(REQUEST.model_copy(update={"limits": limits}))).result()

    assert outside.fetched[0].urls == (BREAD, LOST)
    assert {source.uri for source in result.sources} == {BREAD}
    assert [page.url for page in knowledge.readings[1].fetched if page.status == "failed"] == [LOST]


async def test_a_long_question_is_shortened_for_providers(serving: Serving) -> None:
    """A question that is longer than a query of a provider may be does not end the run."""
    outside = Outside(down=True)
    question = f"{QUESTION} {'My oven is old. ' * 400}"
    async with serving(None, MemoryKnowledge({}), web=[outside.search_web, outside.fetch_pages]) as stage:
        result = await (await stage.start(REQUEST.model_copy(update={"question": question}))).result()

    assert result.status == "no_evidence"
    assert {len(search.query) <= MAX_WEB_QUERY_CHARACTERS for search in outside.searches} == {True}
    assert outside.searches[0].question == question.strip()


async def test_failed_providers_are_reported(serving: Serving) -> None:
    """Without any answer the run ends without evidence, and the result names the providers that failed."""
    outside = Outside(down=True)
    async with serving(None, MemoryKnowledge({}), web=[outside.search_web, outside.fetch_pages]) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.status == "no_evidence"
    assert result.web is not None and result.web.is_unanswered
    assert result.web.providers[0].note == "it is down"
    assert outside.fetched == []


@slow
async def test_run_without_a_web_scope_starts_no_web_activity(serving: Serving) -> None:
    """A run that may not read the web starts no web activity and ends although no worker serves the queue."""
    plain = REQUEST.limits.model_copy(update={"web": None})
    request = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=plain)
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(request)).result()

    assert result.status == "done"
    assert result.web is None and result.usage.pages == 0


@dataclass
class Screen:
    """A browser that adds text to one page."""

    pages: dict[str, str]
    shown: list[str] = field(default_factory=list)

    @activity.defn
    async def render_pages(self, request: FetchRequest) -> FetchReply:
        self.shown += request.urls
        self.pages |= {address: PAGES[address] for address in request.urls if address == BREAD}
        return FetchReply(
            pages=tuple(
                FetchedPage(url=address, status="fetched", canonical_url=address)
                if self.pages[address]
                else FetchedPage(url=address, status="failed", note="it never rests")
                for address in request.urls
            )
        )


@slow
async def test_page_without_text_is_rendered_by_a_browser(serving: Serving) -> None:
    """The rendered text of a page is read; a page that no browser can render stays without text."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=dict.fromkeys(PAGES, ""))
    screen = Screen(knowledge.pages)
    async with serving(None, knowledge, web=(outside.search_web, outside.fetch_pages, screen.render_pages)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert [source.uri for source in result.sources] == [BREAD]
    assert result.usage.pages == 1
    assert screen.shown[:2] == [BREAD, OTHER]
    again = [request for request in knowledge.readings if request.rendered]
    assert [page.canonical_url for page in again[0].fetched] == [BREAD]


async def test_page_without_text_is_no_source_without_a_browser(serving: Serving) -> None:
    """A worker without a browser reports that immediately, and the run continues."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=dict.fromkeys(PAGES, ""))
    async with serving(None, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.status == "no_evidence"
    assert not [request for request in knowledge.readings if request.rendered]
