"""Tests of robots.txt: each file is loaded once, cached for a day, and obeyed."""

import asyncio

import pytest

from tenure.sources.fetch import robots
from tenure.sources.fetch.errors import ErrorStatus, FetchError, NoResponse, RequestRefused, UnusableResponse
from tenure.sources.fetch.robots import RobotsCache

FILE = b"""\xef\xbb\xbfUser-agent: *
Disallow: /private/
Allow: /private/press
Crawl-delay: 2

User-agent: tenure
Disallow: /no-tenure
Crawl-delay: 7.5
"""


class Site:
    """Site that answers requests for the file."""

    def __init__(self, answer: bytes | FetchError) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.now = 0.0

    async def load(self, address: str) -> bytes:
        self.asked.append(address)
        await asyncio.sleep(0)
        if isinstance(self.answer, FetchError):
            raise self.answer
        return self.answer

    def robots(self, agent: str = "Visitor/1.0") -> RobotsCache:
        return RobotsCache(self.load, agent, lambda: self.now)


async def test_disallowed_pages_are_refused() -> None:
    """The rules for all user agents apply without a more specific group; the longer path wins."""
    visitor = Site(FILE).robots()

    assert await visitor.get_crawl_delay("https://a.example/page") == 2.0
    assert await visitor.get_crawl_delay("https://a.example/private/press") == 2.0
    with pytest.raises(RequestRefused, match="robots"):
        await visitor.get_crawl_delay("https://a.example/private/diary")


async def test_a_group_for_the_product_name_applies() -> None:
    """A group for the product name of the user agent replaces the group for all, in any case."""
    visitor = Site(FILE).robots("Tenure/0.1 (research agent)")

    assert await visitor.get_crawl_delay("https://a.example/private/diary") == 7.5
    with pytest.raises(RequestRefused):
        await visitor.get_crawl_delay("https://a.example/no-tenure")


async def test_the_file_is_loaded_once_a_day_per_origin() -> None:
    """Concurrent pages share one request; ports and schemes are separate origins."""
    site = Site(FILE)
    visitor = site.robots()
    await asyncio.gather(*(visitor.get_crawl_delay(f"https://a.example/{number}") for number in range(5)))
    await visitor.get_crawl_delay("https://a.example:8443/")
    await visitor.get_crawl_delay("http://a.example/")
    assert site.asked == [
        f"{origin}/robots.txt" for origin in ("https://a.example", "https://a.example:8443", "http://a.example")
    ]
    site.now = 86_401.0
    await visitor.get_crawl_delay("https://a.example/")

    assert len(site.asked) == 4


async def test_a_cancelled_request_does_not_affect_others() -> None:
    """A cancelled request leaves the load running for the other waiting requests."""
    visitor = Site(FILE).robots()
    first = asyncio.create_task(visitor.get_crawl_delay("https://a.example/1"))
    second = asyncio.create_task(visitor.get_crawl_delay("https://a.example/2"))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == 2.0


@pytest.mark.parametrize("error", [ErrorStatus(404), ErrorStatus(403), ErrorStatus(410), UnusableResponse("a circle")])
async def test_a_site_without_the_file_allows_everything(error: FetchError) -> None:
    """A missing or unreadable file forbids nothing."""
    assert await Site(error).robots().get_crawl_delay("https://a.example/private/") == 0.0


@pytest.mark.parametrize("error", [ErrorStatus(500), ErrorStatus(503), ErrorStatus(429), NoResponse("nobody there")])
async def test_a_failing_site_is_not_crawled_for_a_while(error: FetchError) -> None:
    """The rules are unknown, and the file is requested again after some minutes, not for each page."""
    site = Site(error)
    visitor = site.robots()
    for _ in range(2):
        with pytest.raises(NoResponse, match="cannot be loaded"):
            await visitor.get_crawl_delay("https://a.example/")
    assert len(site.asked) == 1
    site.now, site.answer = 301.0, FILE

    assert await visitor.get_crawl_delay("https://a.example/") == 2.0


async def test_a_forbidden_site_is_refused() -> None:
    """The reason of the guard is the reason for the page."""
    with pytest.raises(RequestRefused, match="inside"):
        await Site(RequestRefused("it is inside")).robots().get_crawl_delay("https://a.example/")


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00garbage", b"<html>no rules</html>", b"Disallow /x\n" * 1000])
async def test_nonsense_forbids_nothing(body: bytes) -> None:
    """A file without valid rules forbids nothing."""
    assert await Site(body).robots().get_crawl_delay("https://a.example/x") == 0.0


async def test_expired_sites_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a number of sites, expired entries are removed."""
    monkeypatch.setattr(robots, "_MAX_SITES", 3)
    site = Site(FILE)
    visitor = site.robots()
    for number in range(6):
        site.now += 50_000.0
        await visitor.get_crawl_delay(f"https://{number}.example/")

    assert len(visitor._known) <= 3
