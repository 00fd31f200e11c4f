"""References are dead only when their server says so, and nobody is asked for what was fetched just now."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.web import CheckedLink, FetchRequest, LinkRequest
from tenure.knowledge.fetching import PageFetching
from tenure.knowledge.links import LinkCheck, archived
from tenure.knowledge.pages import PageCache
from tenure.knowledge.store import Store
from tenure.sources.fetch import Fetcher, Manners
from tenure.sources.guard import Guard
from tests.web import LIGHTHOUSES, Web

PATH = LIGHTHOUSES[0].path
ARCHIVE = "https://archive.example/latest/{address}"


class Stage:
    """A web, and who checks its links at a time that a test sets."""

    def __init__(self, web: Web, uri: str) -> None:
        self.web = web
        self.now = datetime(2026, 5, 4, 12, tzinfo=UTC)
        self.cache = PageCache(Store(uri))
        self.fetcher = Fetcher(Guard([web.allow]), manners=Manners(gap=0, per_host=8))
        self.links = LinkCheck(self.cache, self.fetcher, ARCHIVE, lambda: self.now)

    async def check(self, *paths: str) -> list[CheckedLink]:
        """Check links to paths of the web, or to other addresses."""
        addresses = tuple(self.web.address(path) if path.startswith("/") else path for path in paths)
        return list((await self.links.check(LinkRequest(addresses=addresses))).links)


@pytest.fixture
async def stage(uri: str) -> AsyncIterator[Stage]:
    with Web() as web:
        made = Stage(web, uri)
        yield made
        await made.fetcher.aclose()


async def test_what_is_there_is_alive(stage: Stage) -> None:
    """Pages, redirects to pages and what nobody could read as text are there."""
    links = await stage.check(PATH, "/moved", "/film", "/report.pdf", "/bomb.gz")

    assert [link.state for link in links] == ["alive"] * 5
    assert [(link.note, link.archive) for link in links] == [("", "")] * 5


async def test_what_its_server_does_not_have_is_dead(stage: Stage) -> None:
    """The note gives the answer, and the archive leads to what was there."""
    gone, missing = await stage.check("/gone", "/there-is-no-such-page")

    assert (gone.state, gone.code, missing.state, missing.code) == ("dead", 410, "dead", 404)
    assert gone.note == "the server answered 410 (Gone)"
    assert gone.archive == f"https://archive.example/latest/{stage.web.address('/gone')}"


async def test_what_cannot_be_asked_for_is_open(stage: Stage) -> None:
    """No answer, a rule and an address that is none prove nothing."""
    links = await stage.check("/hangs-up", "/private/keeper", "/loop/a", "http://10.0.0.1/", "mailto:a@b.example")

    assert [link.state for link in links] == ["unknown"] * 5
    assert all(link.note and not link.archive for link in links)


async def test_what_was_fetched_lately_is_not_asked_for_again(stage: Stage) -> None:
    """Within an hour the page cache answers; after that the server does."""
    fetching = PageFetching(stage.cache, stage.fetcher, timedelta(days=1), lambda: stage.now)
    await fetching.fetch(FetchRequest(run=RunId("r"), addresses=(stage.web.address("/moved"),)))
    asked = len(stage.web.requests)
    stage.now += timedelta(minutes=59)
    assert [link.state for link in await stage.check("/moved", PATH)] == ["alive", "alive"]
    assert len(stage.web.requests) == asked
    stage.now += timedelta(minutes=2)
    await stage.check(PATH)

    assert len(stage.web.requests) == asked + 1


def test_an_archive_takes_an_address_where_it_wants_it() -> None:
    """In a path as it is, in a query escaped; without an archive there is nothing."""
    assert archived(ARCHIVE, "https://a.example/?b=c") == "https://archive.example/latest/https://a.example/?b=c"
    assert archived("https://x.example/?u={address}&v", "https://a.example/?b") == (
        "https://x.example/?u=https%3A%2F%2Fa.example%2F%3Fb&v"
    )
    assert archived("", "https://a.example/") == ""
