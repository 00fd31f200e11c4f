"""Runs that read the web: engines and pages are scripted, everything between them and the report is real."""

from dataclasses import dataclass, field

from temporalio import activity

from tenure.contracts.evidence.web import (
    FetchedPage,
    FetchReply,
    FetchRequest,
    ProviderAnswer,
    WebHit,
    WebScope,
    WebSearchReply,
    WebSearchRequest,
)
from tenure.contracts.run.run import Limits, RunRequest
from tests.conftest import Serving
from tests.worlds import KITCHEN, MemoryKnowledge

QUESTION = "How is bread baked?"
BREAD = "https://bakery.example/bread"
LOST = "https://bakery.example/gone"
OTHER = "https://mill.example/flour"
PAGES = {
    BREAD: "Bread is baked in a hot oven for forty minutes.\n\nBefore it is baked, bread dough rises for two hours.",
    OTHER: "Bread flour is milled from wheat, and bread is baked from it.\n\nRye bread is baked longer than wheat.",
}
SCOPE = WebScope(pages=2, domains=("bakery.example", "mill.example"))
REQUEST = RunRequest(question=QUESTION, limits=Limits(min_relevance=0.05, max_sections=1, max_cycles=1, web=SCOPE))


@dataclass
class Outside:
    """A web of three addresses, one of which is gone; what it is asked is remembered."""

    searches: list[WebSearchRequest] = field(default_factory=list)
    fetched: list[FetchRequest] = field(default_factory=list)
    down: bool = False
    gone_later: bool = False

    @activity.defn
    async def search_web(self, request: WebSearchRequest) -> WebSearchReply:
        self.searches.append(request)
        if self.down:
            return WebSearchReply(answers=(ProviderAnswer(provider="searxng", status="failed", note="it is down"),))
        hits = tuple(WebHit(address=address) for address in (LOST, BREAD, OTHER))
        return WebSearchReply(hits=hits, answers=(ProviderAnswer(provider="searxng", status="answered", hits=3),))

    @activity.defn
    async def fetch_pages(self, request: FetchRequest) -> FetchReply:
        self.fetched.append(request)
        there = {} if request.confirm and self.gone_later else PAGES
        return FetchReply(
            pages=tuple(
                FetchedPage(address=address, status="fetched", page=address)
                if address in there
                else FetchedPage(address=address, status="failed", code=404, note="404")
                for address in request.addresses
            )
        )


async def test_a_run_cites_pages_that_it_found(serving: Serving) -> None:
    """Pages are searched for, fetched and read into a corpus of the run, and the report quotes and counts them."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=PAGES)
    async with serving(None, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        handle = await stage.start(REQUEST)
        result = await handle.result()

    assert result.status == "done"
    assert {source.uri for source in result.sources} <= set(PAGES) and result.sources
    assert result.usage.pages == 2
    assert {search.corpora for search in knowledge.searches} == {(f"web/{handle.id}",)}
    assert outside.searches[0].domains == SCOPE.domains
    assert result.web is not None and result.web.engines[0].answered


async def test_what_cannot_be_had_is_replaced_and_nothing_is_fetched_twice(serving: Serving) -> None:
    """The next best offer takes the place of a page that is gone; a query is looked up once for each part of a run."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=PAGES)
    async with serving(None, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        await (await stage.start(REQUEST)).result()

    first, second = outside.fetched[:2]
    assert (first.addresses, second.addresses) == ((LOST, BREAD), (OTHER,))
    gone = [page for page in knowledge.readings[1].fetched if page.status == "failed"]
    assert [page.address for page in gone] == [LOST]


async def test_references_say_whether_their_pages_are_still_there(serving: Serving) -> None:
    """At the end servers are asked for cited pages once more; what is gone is told, with where an archive has it."""
    outside = Outside(gone_later=True)
    scope = SCOPE.model_copy(update={"archive": "https://archive.example/{date}/{address}"})
    request = REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update={"web": scope})})
    async with serving(None, MemoryKnowledge({}, pages=PAGES), web=[outside.search_web, outside.fetch_pages]) as stage:
        result = await (await stage.start(request)).result()

    assert outside.fetched[-1].confirm and not any(asked.confirm for asked in outside.fetched[:-1])
    assert {source.link for source in result.sources} == {"dead"}
    assert result.sources[0].archived == f"https://archive.example/20260101/{result.sources[0].uri}"
    assert "The page of source 1 was gone" in " ".join(result.notes)


async def test_engines_that_do_not_answer_are_no_proof_that_there_is_nothing(serving: Serving) -> None:
    """Without any answer there is no evidence, and the result says who did not answer instead of hiding it."""
    outside = Outside(down=True)
    async with serving(None, MemoryKnowledge({}), web=[outside.search_web, outside.fetch_pages]) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.status == "no_evidence"
    assert result.web is not None and result.web.unanswered
    assert result.web.engines[0].note == "it is down"
    assert outside.fetched == []


async def test_a_run_without_the_web_never_asks_for_it(serving: Serving) -> None:
    """No activity of the web is begun for a run that may not read it: nobody serves the queue, and it ends."""
    plain = REQUEST.limits.model_copy(update={"web": None})
    request = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=plain)
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(request)).result()

    assert result.status == "done"
    assert result.web is None and result.usage.pages == 0


@dataclass
class Screen:
    """A browser that gives a page words."""

    pages: dict[str, str]
    shown: list[str] = field(default_factory=list)

    @activity.defn
    async def show_pages(self, request: FetchRequest) -> FetchReply:
        self.shown += request.addresses
        self.pages |= {address: PAGES[address] for address in request.addresses if address == BREAD}
        return FetchReply(
            pages=tuple(
                FetchedPage(address=address, status="fetched", page=address)
                if self.pages[address]
                else FetchedPage(address=address, status="failed", note="it never rests")
                for address in request.addresses
            )
        )


async def test_a_page_that_says_nothing_is_shown_by_a_browser(serving: Serving) -> None:
    """What scripts make of a page is read in its place; one that no browser can show stays what it was."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=dict.fromkeys(PAGES, ""))
    screen = Screen(knowledge.pages)
    async with serving(None, knowledge, web=(outside.search_web, outside.fetch_pages, screen.show_pages)) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert [source.uri for source in result.sources] == [BREAD]
    assert result.usage.pages == 1
    assert screen.shown[:2] == [BREAD, OTHER]
    again = [request for request in knowledge.readings if request.shown]
    assert [page.page for page in again[0].fetched] == [BREAD]


async def test_without_a_browser_pages_without_words_are_no_sources(serving: Serving) -> None:
    """A worker without a browser says so at once, and the run goes on with what it has."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=dict.fromkeys(PAGES, ""))
    async with serving(None, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        result = await (await stage.start(REQUEST)).result()

    assert result.status == "no_evidence"
    assert not [request for request in knowledge.readings if request.shown]
