"""The web as activities: what is told, and what is tried again."""

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
    ProviderAnswer,
    WebHit,
    WebSearchReply,
    WebSearchRequest,
)
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.pages.fetching import PageFetching
from tenure.knowledge.store.errors import CommitConflict
from tenure.knowledge.store.store import Store
from tenure.sources.fetch.fetcher import Fetcher, Manners
from tenure.sources.fetch.guard import Guard
from tests.web import LIGHTHOUSES, Web

RUN = RunId("r")
REQUEST = WebSearchRequest(query="rye")
BUSY = ProviderAnswer(provider="a", status="failed", note="a is busy", passing=True)
CLOSED = ProviderAnswer(provider="b", status="failed", note="b wants a key")
EMPTY = ProviderAnswer(provider="c", status="answered")


class Engines:
    """Search engines that answer what a test says."""

    def __init__(self, *answers: ProviderAnswer) -> None:
        self.reply = WebSearchReply(hits=(WebHit(address="https://a.org/"),), answers=answers)

    async def search(self, request: WebSearchRequest) -> WebSearchReply:
        return self.reply


async def searched(engines: Engines, attempt: int = 1) -> WebSearchReply:
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=attempt)
    return await environment.run(WebActivities(engines, None).search_web, REQUEST)  # type: ignore[arg-type]


@pytest.mark.parametrize("answers", [(EMPTY,), (BUSY, EMPTY), (CLOSED,), ()])
async def test_what_asking_again_would_not_change_is_an_answer(answers: tuple[ProviderAnswer, ...]) -> None:
    """Somebody answered, or nobody ever will: either goes to the run as it is."""
    engines = Engines(*answers)

    assert await searched(engines) == engines.reply


async def test_when_nobody_answers_now_they_are_asked_again() -> None:
    """An outage of a moment is Temporal's to wait for, and the failure says who was busy."""
    with pytest.raises(ApplicationError, match="a is busy") as caught:
        await searched(Engines(BUSY, CLOSED))

    assert caught.value.type == SEARCH_UNAVAILABLE
    assert not caught.value.non_retryable


async def test_an_outage_that_lasts_is_an_answer() -> None:
    """After the last attempt the run is told that nobody answered, so that its report can say so."""
    reply = await searched(Engines(BUSY), SEARCH_ATTEMPTS)

    assert reply.failed


@pytest.fixture
async def visitor() -> AsyncIterator[tuple[Web, Fetcher]]:
    with Web() as web:
        made = Fetcher(Guard([web.allow]), manners=Manners(gap=0, per_host=8))
        yield web, made
        await made.aclose()


async def fetched(fetcher: Fetcher, folder: Path, *addresses: str) -> FetchReply:
    """Run the activity as a worker of its own would."""
    pages = PageFetching(PageCache(Store(str(folder))), fetcher, timedelta(hours=1))
    activities = WebActivities(None, pages)  # type: ignore[arg-type]
    return await ActivityEnvironment().run(activities.fetch_pages, FetchRequest(run=RUN, addresses=addresses))


async def test_a_repeated_attempt_fetches_nothing_again(visitor: tuple[Web, Fetcher], tmp_path: Path) -> None:
    """What an attempt has brought into the cache is there for the next one, on whatever worker."""
    web, fetcher = visitor
    addresses = [web.address(one.path) for one in LIGHTHOUSES[:4]]
    first = await fetched(fetcher, tmp_path, *addresses)
    asked = len(web.requests)
    second = await fetched(fetcher, tmp_path, *addresses)

    assert [page.status for page in first.pages] == ["fetched"] * 4
    assert [page.status for page in second.pages] == ["cached"] * 4
    assert [page.page for page in second.pages] == addresses
    assert len(web.requests) == asked


async def test_a_cache_that_cannot_be_written_is_not_passed_over(
    visitor: tuple[Web, Fetcher], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the cache nobody could read the pages: Temporal tries again."""

    def refuse(self: PageCache, pages: object) -> None:
        raise CommitConflict("pages", 40)

    monkeypatch.setattr(PageCache, "keep", refuse)
    web, fetcher = visitor
    with pytest.raises(ApplicationError, match="gave up writing") as caught:
        await fetched(fetcher, tmp_path, *(web.address(one.path) for one in LIGHTHOUSES[:40]))

    assert not caught.value.non_retryable


async def test_pages_are_shown_again_although_they_are_at_hand(visitor: tuple[Web, Fetcher], tmp_path: Path) -> None:
    """What a browser shows takes the place of what the server sent, however fresh that is."""
    web, fetcher = visitor
    address = web.address(LIGHTHOUSES[0].path)
    await fetched(fetcher, tmp_path, address)
    pages = PageFetching(PageCache(Store(str(tmp_path))), fetcher, timedelta(hours=1), anew=True)
    request = FetchRequest(run=RUN, addresses=(address,))
    reply = await ActivityEnvironment().run(BrowserActivities(pages).show_pages, request)

    assert web.count(LIGHTHOUSES[0].path) == 2
    assert [page.page for page in reply.pages] == [address]


async def test_without_a_browser_the_reply_says_what_to_set() -> None:
    """Nothing is fetched, and the note names the setting."""
    request = FetchRequest(run=RUN, addresses=("https://a.example/",))
    [page] = (await ActivityEnvironment().run(BrowserActivities(None).show_pages, request)).pages

    assert page.status == "refused"
    assert "TENURE_BROWSER" in page.note
