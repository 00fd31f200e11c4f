"""What a site says to programs is read once, kept for a day, and obeyed."""

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
    """Answers requests for the file."""

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


async def test_what_a_site_forbids_is_not_asked_for() -> None:
    """The rules for all hold for whom no other is named; the longer path wins."""
    visitor = Site(FILE).robots()

    assert await visitor.get_crawl_delay("https://a.example/page") == 2.0
    assert await visitor.get_crawl_delay("https://a.example/private/press") == 2.0
    with pytest.raises(RequestRefused, match="robots"):
        await visitor.get_crawl_delay("https://a.example/private/diary")


async def test_what_is_said_to_us_counts_for_us() -> None:
    """A group for the word before the slash of the user agent is read instead, whatever its case."""
    visitor = Site(FILE).robots("Tenure/0.1 (research agent)")

    assert await visitor.get_crawl_delay("https://a.example/private/diary") == 7.5
    with pytest.raises(RequestRefused):
        await visitor.get_crawl_delay("https://a.example/no-tenure")


async def test_the_file_is_read_once_a_day_for_each_origin() -> None:
    """Pages that are wanted at the same time share one request; ports and schemes are sites of their own."""
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


async def test_who_asks_first_may_leave() -> None:
    """A cancelled request does not take the answer away from those who wait for the same file."""
    visitor = Site(FILE).robots()
    first = asyncio.create_task(visitor.get_crawl_delay("https://a.example/1"))
    second = asyncio.create_task(visitor.get_crawl_delay("https://a.example/2"))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == 2.0


@pytest.mark.parametrize("error", [ErrorStatus(404), ErrorStatus(403), ErrorStatus(410), UnusableResponse("a circle")])
async def test_a_site_without_the_file_allows_everything(error: FetchError) -> None:
    """No file, or none that can be read, forbids nothing."""
    assert await Site(error).robots().get_crawl_delay("https://a.example/private/") == 0.0


@pytest.mark.parametrize("error", [ErrorStatus(500), ErrorStatus(503), ErrorStatus(429), NoResponse("nobody there")])
async def test_a_site_whose_server_fails_is_left_alone_for_a_while(error: FetchError) -> None:
    """Nobody knows what it wants; it is asked again after some minutes, not for each page."""
    site = Site(error)
    visitor = site.robots()
    for _ in range(2):
        with pytest.raises(NoResponse, match="cannot be loaded"):
            await visitor.get_crawl_delay("https://a.example/")
    assert len(site.asked) == 1
    site.now, site.answer = 301.0, FILE

    assert await visitor.get_crawl_delay("https://a.example/") == 2.0


async def test_a_site_that_may_not_be_asked_is_refused() -> None:
    """The reason of the guard is the reason for the page."""
    with pytest.raises(RequestRefused, match="inside"):
        await Site(RequestRefused("it is inside")).robots().get_crawl_delay("https://a.example/")


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00garbage", b"<html>no rules</html>", b"Disallow /x\n" * 1000])
async def test_nonsense_forbids_nothing(body: bytes) -> None:
    """A file that holds no rule is as good as none."""
    assert await Site(body).robots().get_crawl_delay("https://a.example/x") == 0.0


async def test_sites_of_yesterday_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of sites those go whose day is over."""
    monkeypatch.setattr(robots, "_MAX_SITES", 3)
    site = Site(FILE)
    visitor = site.robots()
    for number in range(6):
        site.now += 50_000.0
        await visitor.get_crawl_delay(f"https://{number}.example/")

    assert len(visitor._known) <= 3
