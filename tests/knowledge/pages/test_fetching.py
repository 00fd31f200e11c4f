"""Test fetching through the page cache: reuse, revalidation and failing servers."""

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
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.fetcher import (
    CrawlPolicy,
    FetchedResponse,
    Fetcher,
    FetchLimits,
    UrlRule,
    permit_every_url,
)
from tenure.sources.fetch.transfer import Validators
from tests.support.waiting import wait_until
from tests.web import LIGHTHOUSES, Reply, Web
from tests.web.pages import bodies

PATHS = [one.path for one in LIGHTHOUSES[:5]]


class Stage:
    """Web server, cache and clock of a test."""

    def __init__(self, web: Web, uri: str) -> None:
        self.web = web
        self.now = datetime(2026, 5, 4, 12, tzinfo=UTC)
        self.cache = PageCache(Store(uri))
        self.fetcher = Fetcher(
            AddressGuard([web.allow]), FetchLimits(10.0, 300_000), CrawlPolicy(min_interval=0, max_per_host=8)
        )
        self.fetching = PageFetching(self.cache, self.fetcher, timedelta(hours=24), lambda: self.now)

    async def fetch(self, *paths: str, revalidate: bool = False) -> FetchReply:
        """Fetch paths of the server, or other URLs."""
        addresses = tuple(self.web.build_url(path) if path.startswith("/") else path for path in paths)
        return await self.fetching.fetch(FetchRequest(run=RunId("r"), urls=addresses, revalidate=revalidate))

    async def statuses(self, *paths: str, revalidate: bool = False) -> list[str]:
        """Fetch pages, and return their statuses."""
        return [page.status for page in (await self.fetch(*paths, revalidate=revalidate)).pages]


@pytest.fixture
async def stage(uri: str) -> AsyncIterator[Stage]:
    with Web() as web:
        made = Stage(web, uri)
        yield made
        await made.fetcher.aclose()


async def test_pages_are_fetched_into_the_cache(stage: Stage) -> None:
    """The reply lists the pages in the order of the request, and the cache holds their bodies."""
    reply = await stage.fetch(*PATHS)

    assert [page.url for page in reply.pages] == [stage.web.build_url(path) for path in PATHS]
    assert [(page.status, page.media_type) for page in reply.pages] == [("fetched", "text/html")] * 5
    assert [page.body for page in stage.cache.load_pages(page.canonical_url for page in reply.pages)] == [
        bodies()[path] for path in PATHS
    ]
    assert [page.size for page in reply.pages] == [len(bodies()[path]) for path in PATHS]


async def test_fresh_pages_are_not_fetched_again(stage: Stage) -> None:
    """Fresh pages need no request unless one asks for it; stale ones are revalidated without a body."""
    paths = [*PATHS, "/moved"]
    await stage.fetch(*paths)
    asked = len(stage.web.requests)
    assert await stage.statuses(*paths) == ["cached"] * 6
    assert len(stage.web.requests) == asked
    assert await stage.statuses(PATHS[0], revalidate=True) == ["unchanged"]
    stage.now += timedelta(hours=25)
    reply = await stage.fetch(*paths)

    assert [page.status for page in reply.pages] == ["unchanged"] * 6
    assert await stage.statuses(*paths) == ["cached"] * 6


async def test_changed_page_replaces_the_old_one(stage: Stage) -> None:
    """A stale page that has changed is fetched and stored."""
    stage.web.sites["/news"] = lambda request: Reply(b"old news")
    await stage.fetch("/news")
    stage.web.sites["/news"] = lambda request: Reply(b"new news")
    assert await stage.statuses("/news") == ["cached"]
    stage.now += timedelta(hours=25)

    assert await stage.statuses("/news") == ["fetched"]
    assert [page.body for page in stage.cache.load_pages([stage.web.build_url("/news")])] == [b"new news"]


async def test_equivalent_urls_are_fetched_once(stage: Stage) -> None:
    """Two spellings of a URL need one request, and both are answered."""
    reply = await stage.fetch(PATHS[0], PATHS[0] + "?utm_source=a#b", "/moved")

    assert {page.canonical_url for page in reply.pages} == {stage.web.build_url(PATHS[0])}
    assert stage.web.count(PATHS[0]) == 2  # once directly, once after the redirect


async def test_server_shortens_the_freshness(stage: Stage) -> None:
    """A page that forbids caching is fetched again soon, but not within the same run; long lifetimes are cut."""
    paths = ("/no-store", "/for-a-week", PATHS[0])
    await stage.fetch(*paths)
    stage.now += timedelta(minutes=9)
    assert await stage.statuses(*paths) == ["cached", "cached", "cached"]
    stage.now += timedelta(minutes=2)
    assert await stage.statuses(*paths) == ["unchanged", "cached", "cached"]
    stage.now += timedelta(hours=24)

    assert await stage.statuses(*paths) == ["unchanged", "unchanged", "unchanged"]


async def test_failures_affect_single_pages(stage: Stage) -> None:
    """Refused and failed pages have a reason; the others are returned."""
    reply = await stage.fetch("/private/keeper", "/gone", "http://10.0.0.1/", "mailto:a@b", PATHS[0], "/loop/a")

    assert [page.status for page in reply.pages] == ["refused", "failed", "refused", "refused", "fetched", "failed"]
    assert "410" in reply.pages[1].note
    assert all(page.note and not page.canonical_url for page in reply.pages if page.status != "fetched")
    assert reply.pages[3].url == "mailto:a@b"


async def test_cached_copy_is_used_if_the_server_is_down(stage: Stage) -> None:
    """The note names the date of the copy; without a copy the page fails."""
    await stage.fetch("/moved")
    there = dict(stage.web.sites)
    stage.now += timedelta(days=3)
    for path in ("/moved", PATHS[0], PATHS[1]):
        stage.web.sites[path] = lambda request: Reply(b"x" * 9, breaks_after=0)
    copy, absent = (await stage.fetch("/moved", PATHS[1])).pages
    stage.web.sites.update(there)

    assert (copy.status, copy.canonical_url) == ("cached", stage.web.build_url(PATHS[0]))
    assert "2026-05-04" in copy.note
    assert (absent.status, absent.canonical_url) == ("failed", "")


@pytest.mark.parametrize(("code", "status"), [(500, "cached"), (408, "cached"), (404, "failed"), (403, "failed")])
async def test_temporary_errors_keep_the_copy(code: int, status: str, stage: Stage) -> None:
    """A server error returns the copy; a definite status such as 404 does not."""
    await stage.fetch(PATHS[0])
    stage.web.sites[PATHS[0]] = lambda request: Reply(b"no", code)
    stage.now += timedelta(days=2)
    [page] = (await stage.fetch(PATHS[0])).pages

    assert page.status == status
    assert str(code) in page.note


async def test_trimmed_redirect_target_is_fetched_again(stage: Stage) -> None:
    """A redirect whose target was removed by maintenance needs a new request."""
    await stage.fetch("/moved")
    stage.cache._store.delete_rows("pages", f"url = '{stage.web.build_url(PATHS[0])}'")

    assert await stage.statuses("/moved") == ["fetched"]


class Held:
    """Fetcher that waits until the test releases it."""

    def __init__(self, stage: Stage) -> None:
        self.go = asyncio.Event()
        self._fetcher = stage.fetcher
        stage.fetching = PageFetching(stage.cache, self, timedelta(hours=24), lambda: stage.now)
        self._shared = stage.fetching._shared

    async def fetch(
        self, address: str, known: Mapping[str, Validators] | None = None, find_violation: UrlRule = permit_every_url
    ) -> FetchedResponse:
        await self.go.wait()
        return await self._fetcher.fetch(address, known, find_violation)

    async def wanted(self, requests: int, by: int) -> None:
        """Wait for a number of running requests, each with a number of waiting callers."""
        await wait_until(
            "the callers",
            lambda: [one.waiting for one in self._shared.values()],
            lambda counts: counts == [by] * requests,
        )


async def test_concurrent_requests_for_a_page_are_shared(stage: Stage) -> None:
    """Two runs that request a page concurrently cause one request."""
    held = Held(stage)
    both = asyncio.gather(stage.statuses(*PATHS), stage.statuses(*PATHS))
    await held.wanted(5, by=2)
    held.go.set()
    one, other = await both

    assert one == other == ["fetched"] * 5
    assert [stage.web.count(path) for path in PATHS] == [1] * 5


async def test_cancelled_caller_does_not_cancel_a_shared_request(stage: Stage) -> None:
    """The request continues for other callers, and is cancelled if there are none."""
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
    """Batches are limited by number and by size."""
    sizes: list[int] = []
    keep = PageCache.store_pages

    def counted(self: PageCache, pages: Sequence[CachedPage]) -> None:
        sizes.append(len(pages))
        keep(self, pages)

    monkeypatch.setattr(PageCache, "store_pages", counted)
    await stage.fetch(*(one.path for one in LIGHTHOUSES[:70]))
    assert sum(sizes) == 70
    assert max(sizes) <= fetching._MAX_BATCH_PAGES
    sizes.clear()
    monkeypatch.setattr(fetching, "_MAX_BATCH_BYTES", 1_000)
    await stage.fetch(*(one.path for one in LIGHTHOUSES[70:74]))

    assert len(sizes) > 1


async def test_redirects_stay_within_the_domains(stage: Stage) -> None:
    """A redirect that leaves the domains of the run is not followed, also if another run has cached its target."""
    stage.web.sites["/away"] = lambda request: Reply(b"", 302, {"location": f"http://localhost:{stage.web.port}/leak"})
    stage.web.sites["/leak"] = lambda request: Reply(b"<p>The page that another run may read.</p>")
    request = FetchRequest(run=RunId("r"), urls=(stage.web.build_url("/away"),))
    confined = request.model_copy(update={"domains": ("127.0.0.1",)})
    excluding = request.model_copy(update={"excluded_domains": ("localhost",)})

    refused = [(await stage.fetching.fetch(one)).pages[0] for one in (confined, excluding)]
    assert [page.status for page in refused] == ["refused", "refused"] and stage.web.count("/leak") == 0
    assert all("it redirects to another page: pages of localhost are outside" in page.note for page in refused)
    assert (await stage.fetching.fetch(request)).pages[0].status == "fetched" and stage.web.count("/leak") == 1
    assert (await stage.fetching.fetch(confined)).pages[0].status == "refused" and stage.web.count("/leak") == 1
