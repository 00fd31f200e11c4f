"""Pages are fetched once for all runs, confirmed later, and taken as they were when their server is gone."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.web import FetchReply, FetchRequest
from tenure.knowledge.pages import fetching
from tenure.knowledge.pages.cache import CachedPage, PageCache
from tenure.knowledge.pages.fetching import PageFetching
from tenure.knowledge.store.store import Store
from tenure.sources.fetch.fetcher import Fetched, Fetcher, Limits, Manners
from tenure.sources.fetch.guard import Guard
from tenure.sources.fetch.transfer import Validators
from tests.web import LIGHTHOUSES, Reply, Web
from tests.web.pages import bodies

PATHS = [one.path for one in LIGHTHOUSES[:5]]


class Stage:
    """A web, a cache, and a clock that a test turns."""

    def __init__(self, web: Web, uri: str) -> None:
        self.web = web
        self.now = datetime(2026, 5, 4, 12, tzinfo=UTC)
        self.cache = PageCache(Store(uri))
        self.fetcher = Fetcher(Guard([web.allow]), Limits(10.0, 300_000), Manners(gap=0, per_host=8))
        self.fetching = PageFetching(self.cache, self.fetcher, timedelta(hours=24), lambda: self.now)

    async def fetch(self, *paths: str) -> FetchReply:
        """Fetch pages of the web, or other addresses."""
        addresses = tuple(self.web.address(path) if path.startswith("/") else path for path in paths)
        return await self.fetching.fetch(FetchRequest(run=RunId("r"), addresses=addresses))

    async def statuses(self, *paths: str) -> list[str]:
        """Fetch pages, and return what became of each."""
        return [page.status for page in (await self.fetch(*paths)).pages]


@pytest.fixture
async def stage(uri: str) -> AsyncIterator[Stage]:
    with Web() as web:
        made = Stage(web, uri)
        yield made
        await made.fetcher.aclose()


async def test_pages_are_fetched_into_the_cache(stage: Stage) -> None:
    """The reply names each page in the order of the request, and the cache holds its body."""
    reply = await stage.fetch(*PATHS)

    assert [page.address for page in reply.pages] == [stage.web.address(path) for path in PATHS]
    assert [(page.status, page.code, page.media_type) for page in reply.pages] == [("fetched", 200, "text/html")] * 5
    assert [page.body for page in stage.cache.pages(page.page for page in reply.pages)] == [
        bodies()[path] for path in PATHS
    ]
    assert [page.size for page in reply.pages] == [len(bodies()[path]) for path in PATHS]


async def test_the_second_run_fetches_nothing_again(stage: Stage) -> None:
    """While pages are fresh nobody is asked; after that their servers confirm them, and no body is sent."""
    paths = [*PATHS, "/moved"]
    await stage.fetch(*paths)
    asked = len(stage.web.requests)
    assert await stage.statuses(*paths) == ["cached"] * 6
    assert len(stage.web.requests) == asked
    stage.now += timedelta(hours=25)
    reply = await stage.fetch(*paths)

    assert [(page.status, page.transferred) for page in reply.pages] == [("unchanged", 0)] * 6
    assert await stage.statuses(*paths) == ["cached"] * 6


async def test_a_page_that_has_changed_takes_the_place_of_the_old_one(stage: Stage) -> None:
    """Once it is no longer fresh, the new version is fetched and kept."""
    stage.web.sites["/news"] = lambda request: Reply(b"old news")
    await stage.fetch("/news")
    stage.web.sites["/news"] = lambda request: Reply(b"new news")
    assert await stage.statuses("/news") == ["cached"]
    stage.now += timedelta(hours=25)

    assert await stage.statuses("/news") == ["fetched"]
    assert [page.body for page in stage.cache.pages([stage.web.address("/news")])] == [b"new news"]


async def test_ways_to_write_an_address_are_one_page(stage: Stage) -> None:
    """An address that is asked for in two forms is requested once, and both are answered."""
    reply = await stage.fetch(PATHS[0], PATHS[0] + "?utm_source=a#b", "/moved")

    assert {page.page for page in reply.pages} == {stage.web.address(PATHS[0])}
    assert stage.web.count(PATHS[0]) == 2  # once by itself, once behind the redirect


async def test_a_server_shortens_how_long_a_page_is_fresh(stage: Stage) -> None:
    """A page that must not be kept is asked for again soon, but not within the same run; a long life is cut."""
    paths = ("/no-store", "/for-a-week", PATHS[0])
    await stage.fetch(*paths)
    stage.now += timedelta(minutes=9)
    assert await stage.statuses(*paths) == ["cached", "cached", "cached"]
    stage.now += timedelta(minutes=2)
    assert await stage.statuses(*paths) == ["unchanged", "cached", "cached"]
    stage.now += timedelta(hours=24)

    assert await stage.statuses(*paths) == ["unchanged", "unchanged", "unchanged"]


async def test_each_page_fails_by_itself(stage: Stage) -> None:
    """What is refused or failed says why, beside the pages that came."""
    reply = await stage.fetch("/private/keeper", "/gone", "http://10.0.0.1/", "mailto:a@b", PATHS[0], "/loop/a")

    assert [page.status for page in reply.pages] == ["refused", "failed", "refused", "refused", "fetched", "failed"]
    assert reply.pages[1].code == 410
    assert all(page.note and not page.page for page in reply.pages if page.status != "fetched")
    assert reply.pages[3].address == "mailto:a@b"


async def test_without_its_server_a_page_is_what_it_was(stage: Stage) -> None:
    """The copy at hand is used, and the note says since when; without one the page has failed."""
    await stage.fetch("/moved")
    there = dict(stage.web.sites)
    stage.now += timedelta(days=3)
    for path in ("/moved", PATHS[0], PATHS[1]):
        stage.web.sites[path] = lambda request: Reply(b"x" * 9, breaks_after=0)
    copy, absent = (await stage.fetch("/moved", PATHS[1])).pages
    stage.web.sites.update(there)

    assert (copy.status, copy.page) == ("cached", stage.web.address(PATHS[0]))
    assert "2026-05-04" in copy.note
    assert (absent.status, absent.page) == ("failed", "")


async def test_a_page_can_be_confirmed_before_its_time(stage: Stage) -> None:
    """Who wants to know whether a page is still there has its server asked, unless that was done within the hour."""
    await stage.fetch(PATHS[0])
    stage.now += timedelta(minutes=30)
    address = (stage.web.address(PATHS[0]),)
    confirm = FetchRequest(run=RunId("r"), addresses=address, confirm=True)

    assert [page.status for page in (await stage.fetching.fetch(confirm)).pages] == ["cached"]
    stage.now += timedelta(hours=2)
    assert [page.status for page in (await stage.fetching.fetch(confirm)).pages] == ["unchanged"]


@pytest.mark.parametrize(("code", "status"), [(500, "cached"), (408, "cached"), (404, "failed"), (403, "failed")])
async def test_an_error_of_a_moment_takes_no_copy_away(code: int, status: str, stage: Stage) -> None:
    """A server that fails leaves the page what it was; one that says that it has none does not."""
    await stage.fetch(PATHS[0])
    stage.web.sites[PATHS[0]] = lambda request: Reply(b"no", code)
    stage.now += timedelta(days=2)
    [page] = (await stage.fetch(PATHS[0])).pages

    assert page.status == status
    assert str(code) in page.note


async def test_a_copy_that_is_gone_from_the_cache_is_fetched_again(stage: Stage) -> None:
    """A redirect whose goal was removed by maintenance leads to a request."""
    await stage.fetch("/moved")
    stage.cache._store.delete("pages", f"address = '{stage.web.address(PATHS[0])}'")

    assert await stage.statuses("/moved") == ["fetched"]


class Held:
    """Fetches once it is let."""

    def __init__(self, stage: Stage) -> None:
        self.go = asyncio.Event()
        self._fetcher = stage.fetcher
        stage.fetching = PageFetching(stage.cache, self, timedelta(hours=24), lambda: stage.now)
        self._shared = stage.fetching._shared

    async def fetch(self, address: str, known: Mapping[str, Validators] | None = None) -> Fetched:
        await self.go.wait()
        return await self._fetcher.fetch(address, known)

    async def wanted(self, requests: int, by: int) -> None:
        """Wait until so many requests are under way, each wanted by so many."""
        while [one.waiting for one in self._shared.values()] != [by] * requests:  # noqa: ASYNC110 - joining sets no event
            await asyncio.sleep(0.001)


async def test_who_wants_the_same_page_at_once_shares_a_request(stage: Stage) -> None:
    """Two runs that come to a page at the same moment cost its server one request."""
    held = Held(stage)
    both = asyncio.gather(stage.statuses(*PATHS), stage.statuses(*PATHS))
    await held.wanted(5, by=2)
    held.go.set()
    one, other = await both

    assert one == other == ["fetched"] * 5
    assert [stage.web.count(path) for path in PATHS] == [1] * 5


async def test_a_run_that_stops_takes_no_page_from_another(stage: Stage) -> None:
    """A cancelled request goes on for whoever else waits for it, and ends if nobody does."""
    held = Held(stage)
    first = asyncio.create_task(stage.fetch(PATHS[0]))
    second = asyncio.create_task(stage.statuses(PATHS[0]))
    await held.wanted(1, by=2)
    first.cancel()
    await held.wanted(1, by=1)
    held.go.set()
    assert await second == ["fetched"]
    held.go.clear()
    alone = asyncio.create_task(stage.fetch(PATHS[1]))
    await held.wanted(1, by=1)
    alone.cancel()
    await held.wanted(0, by=0)

    assert first.cancelled()
    assert (await asyncio.gather(alone, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    assert stage.web.count(PATHS[1]) == 0


async def test_many_pages_are_written_in_batches(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages leave memory as they come: by their number, and by their size."""
    sizes: list[int] = []
    keep = PageCache.keep

    def counted(self: PageCache, pages: Sequence[CachedPage]) -> None:
        sizes.append(len(pages))
        keep(self, pages)

    monkeypatch.setattr(PageCache, "keep", counted)
    await stage.fetch(*(one.path for one in LIGHTHOUSES[:70]))
    assert sum(sizes) == 70
    assert max(sizes) <= fetching._BATCH
    sizes.clear()
    monkeypatch.setattr(fetching, "_BATCH_BYTES", 1_000)
    await stage.fetch(*(one.path for one in LIGHTHOUSES[70:74]))

    assert len(sizes) > 1
