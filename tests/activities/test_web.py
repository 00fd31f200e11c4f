"""Web activities: results and retries."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.web import SEARCH_ATTEMPTS, SEARCH_UNAVAILABLE, BrowserActivities, WebActivities
from tenure.contracts.base import RunId
from tenure.contracts.evidence.web import (
    FetchReply,
    FetchRequest,
    ProviderOutcome,
    WebHit,
    WebSearchReply,
    WebSearchRequest,
)
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.pages.fetching import PageFetching
from tenure.knowledge.store.errors import CommitConflict
from tenure.knowledge.store.store import Store
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.fetcher import CrawlPolicy, Fetcher
from tests.web import LIGHTHOUSES, Web

RUN = RunId("r")
REQUEST = WebSearchRequest(query="rye")
BUSY = ProviderOutcome(provider="a", status="failed", note="a is busy", transient=True)
CLOSED = ProviderOutcome(provider="b", status="failed", note="b wants a key")
EMPTY = ProviderOutcome(provider="c", status="answered")


class Engines:
    """Search providers with scripted replies."""

    def __init__(self, *answers: ProviderOutcome, urls: tuple[str, ...] = ("https://a.org/",)) -> None:
        self.reply = WebSearchReply(hits=tuple(WebHit(url=url) for url in urls), outcomes=answers)
        self.requests: list[WebSearchRequest] = []

    async def search(self, request: WebSearchRequest) -> WebSearchReply:
        self.requests.append(request)
        return self.reply


async def searched(engines: Engines, attempt: int = 1, request: WebSearchRequest = REQUEST) -> WebSearchReply:
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=attempt)
    return await environment.run(WebActivities(engines, None).search_web, request)  # type: ignore[arg-type]


@pytest.mark.parametrize("answers", [(EMPTY,), (BUSY, EMPTY), (CLOSED,), ()])
async def test_permanent_outcomes_are_returned(answers: tuple[ProviderOutcome, ...]) -> None:
    """An answer, or a failure that a retry cannot change, is returned to the run."""
    engines = Engines(*answers)

    assert await searched(engines) == engines.reply


async def test_transient_outage_is_retried() -> None:
    """A transient outage is retried by Temporal, and the failure names the busy providers."""
    with pytest.raises(ApplicationError, match="a is busy") as caught:
        await searched(Engines(BUSY, CLOSED))

    assert caught.value.type == SEARCH_UNAVAILABLE
    assert not caught.value.non_retryable


async def test_lasting_outage_is_returned() -> None:
    """After the last attempt the run receives the failures, so that its report can name them."""
    reply = await searched(Engines(BUSY), SEARCH_ATTEMPTS)

    assert reply.has_failed


async def test_an_address_that_only_the_query_names_is_no_result() -> None:
    """A provider may repeat what a model has written; an address of the question stays, which no provider reads."""
    engines = Engines(EMPTY, urls=("https://made.up/?q=secret", "https://named.org/a", "https://found.org/"))
    request = WebSearchRequest(
        query="rye https://made.up/?q=secret https://named.org/a", question="What does https://named.org/a say?"
    )
    reply = await searched(engines, request=request)

    assert [hit.url for hit in reply.hits] == ["https://named.org/a", "https://found.org/"]
    assert [asked.question for asked in engines.requests] == [""]


@pytest.fixture
async def visitor() -> AsyncIterator[tuple[Web, Fetcher]]:
    with Web() as web:
        made = Fetcher(AddressGuard([web.allow]), policy=CrawlPolicy(min_interval=0, max_per_host=8))
        yield web, made
        await made.aclose()


async def fetched(fetcher: Fetcher, folder: Path, *addresses: str) -> FetchReply:
    """Execute the activity as another worker would."""
    pages = PageFetching(PageCache(Store(str(folder))), fetcher, timedelta(hours=1))
    activities = WebActivities(None, pages)  # type: ignore[arg-type]
    return await ActivityEnvironment().run(activities.fetch_pages, FetchRequest(run=RUN, urls=addresses))


async def test_retry_uses_the_page_cache(visitor: tuple[Web, Fetcher], tmp_path: Path) -> None:
    """Pages that an attempt has cached are not fetched again by the next one, on any worker."""
    web, fetcher = visitor
    addresses = [web.build_url(one.path) for one in LIGHTHOUSES[:4]]
    first = await fetched(fetcher, tmp_path, *addresses)
    asked = len(web.requests)
    second = await fetched(fetcher, tmp_path, *addresses)

    assert [page.status for page in first.pages] == ["fetched"] * 4
    assert [page.status for page in second.pages] == ["cached"] * 4
    assert [page.canonical_url for page in second.pages] == addresses
    assert len(web.requests) == asked


async def test_cache_write_error_is_retried(
    visitor: tuple[Web, Fetcher], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that are not in the cache could not be read: Temporal retries."""

    def refuse(self: PageCache, pages: object) -> None:
        raise CommitConflict("pages", 40)

    monkeypatch.setattr(PageCache, "store_pages", refuse)
    web, fetcher = visitor
    with pytest.raises(ApplicationError, match="conflicts with other writers") as caught:
        await fetched(fetcher, tmp_path, *(web.build_url(one.path) for one in LIGHTHOUSES[:40]))

    assert not caught.value.non_retryable


async def test_rendering_ignores_cached_pages(visitor: tuple[Web, Fetcher], tmp_path: Path) -> None:
    """A rendered page replaces the cached one, however recent that is."""
    web, fetcher = visitor
    address = web.build_url(LIGHTHOUSES[0].path)
    await fetched(fetcher, tmp_path, address)
    pages = PageFetching(PageCache(Store(str(tmp_path))), fetcher, timedelta(hours=1), refetch=True)
    request = FetchRequest(run=RUN, urls=(address,))
    reply = await ActivityEnvironment().run(BrowserActivities(pages).render_pages, request)

    assert web.count(LIGHTHOUSES[0].path) == 2
    assert [page.canonical_url for page in reply.pages] == [address]


async def test_missing_browser_is_reported_with_its_setting() -> None:
    """Nothing is fetched, and the note names the setting."""
    request = FetchRequest(run=RUN, urls=("https://a.example/",))
    [page] = (await ActivityEnvironment().run(BrowserActivities(None).render_pages, request)).pages

    assert page.status == "refused"
    assert "TENURE_BROWSER" in page.note
