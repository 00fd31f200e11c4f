"""Tests of fetching pages over real HTTP: rate limits, limits of size and time, and misbehaving servers."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from tenure.settings import Settings
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.errors import ErrorStatus, FetchError, NoResponse, RequestRefused, UnusableResponse
from tenure.sources.fetch.fetcher import (
    MAX_ATTEMPTS,
    MAX_REDIRECTS,
    CrawlPolicy,
    FetchedResponse,
    Fetcher,
    FetchLimits,
    create_fetcher,
)
from tenure.sources.fetch.transfer import Validators, parse_charset, parse_max_age, parse_media_type, parse_retry_after
from tests.web import LIGHTHOUSES, Reply, Request, Web
from tests.web.pages import bodies

PATH = LIGHTHOUSES[0].path
Fetch = Callable[..., Awaitable[FetchedResponse]]


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web(extra={"/to-robots": lambda request: Reply(b"", 302, {"location": "/robots.txt"})}) as made:
        yield made


@pytest.fixture
async def visitor(web: Web) -> AsyncIterator[Fetcher]:
    """Return a fetcher of the test web without a minimum interval."""
    web.requests.clear()
    made = Fetcher(
        AddressGuard([web.allow]),
        FetchLimits(10.0, 300_000),
        CrawlPolicy(min_interval=0, max_per_host=8, user_agent="Visitor/1.0"),
    )
    yield made
    await made.aclose()


async def test_a_page_is_fetched_with_its_metadata(web: Web, visitor: Fetcher) -> None:
    """Body, media type, charset and validators are returned, and the URL is canonical."""
    page = await visitor.fetch(web.build_url(PATH + "?utm_source=letter#top"))

    assert page.redirect_chain == (web.build_url(PATH),)
    assert page.body == bodies()[PATH]
    assert (page.status_code, page.not_modified, page.media_type, page.charset) == (200, False, "text/html", "utf-8")
    assert page.validators.etag
    assert page.transferred_bytes == len(page.body)


async def test_a_request_has_no_cookies_and_credentials(web: Web, visitor: Fetcher) -> None:
    """User agent, accepted media types and encodings are sent; cookies and credentials are not, even after an offer."""
    for _ in range(2):
        await visitor.fetch(web.build_url("/cookie"))
    first, second = web.asked("/cookie")

    assert first.headers == second.headers
    assert set(first.headers) == {"host", "user-agent", "accept", "accept-encoding"}
    assert first.headers["user-agent"] == "Visitor/1.0"


async def test_an_unchanged_page_is_not_transferred_again(web: Web, visitor: Fetcher) -> None:
    """With the validators of a stored copy, the server only confirms it."""
    page = await visitor.fetch(web.build_url(PATH))
    again = await visitor.fetch(web.build_url("/moved"), {page.url: page.validators})

    assert (again.not_modified, again.body, again.transferred_bytes) == (True, b"", 0)
    assert again.redirect_chain == (web.build_url("/moved"), web.build_url(PATH))
    changed = await visitor.fetch(web.build_url(PATH), {page.url: Validators('"another"', "")})
    assert changed.body == page.body


@pytest.mark.parametrize("name", ["gzip", "gzip-twice"])
async def test_compressed_pages_are_decompressed(name: str, web: Web, visitor: Fetcher) -> None:
    """The accepted content encoding is supported."""
    page = await visitor.fetch(web.build_url(f"/packed/{name}"))

    assert page.body == bodies()[PATH]
    assert page.transferred_bytes < len(page.body)


@pytest.mark.parametrize(
    ("path", "error", "note"),
    [
        ("/bomb.gz", UnusableResponse, "larger than 0.3 MB"),
        ("/endless", UnusableResponse, "larger than 0.3 MB"),
        ("/packed/wrong", UnusableResponse, "its content encoding is wrong"),
        ("/packed/short", UnusableResponse, "it is incomplete"),
        ("/packed/strange", UnusableResponse, "is not supported"),
        ("/packed/twofold", UnusableResponse, "is not supported"),
        ("/loop/a", UnusableResponse, "in a loop"),
        ("/steps/1", UnusableResponse, f"more than {MAX_REDIRECTS} times"),
        ("/to/nowhere", UnusableResponse, "without a target"),
        ("/to/file", RequestRefused, "not http or https"),
        ("/to/user", RequestRefused, "user name"),
        ("/to/decimal", RequestRefused, "non-canonical"),
        ("/to/metadata", RequestRefused, "TENURE_FETCH_ALLOW"),
        ("/to/mapped", RequestRefused, "embedded IPv4"),
        ("/to/private", RequestRefused, "robots.txt"),
        ("/private/keeper", RequestRefused, "robots.txt"),
        ("/film", UnusableResponse, "video/mp4"),
        ("/gone", ErrorStatus, r"410 \(Gone\)"),
        ("/there-is-no-such-page", ErrorStatus, r"404 \(Not Found\)"),
        ("/hangs-up", NoResponse, "was lost"),
        ("/closed-for-a-day", NoResponse, "accepts no request for 3600 s"),
    ],
)
async def test_a_trap_fails_only_its_page(path: str, error: type[FetchError], note: str, web: Web) -> None:
    """A failure is reported with its reason, within the limits of one page."""
    visitor = Fetcher(AddressGuard([web.allow]), FetchLimits(10.0, 300_000), CrawlPolicy(min_interval=0))
    with pytest.raises(error, match=note):
        await visitor.fetch(web.build_url(path))
    await visitor.aclose()


async def test_a_large_page_is_not_transferred(web: Web) -> None:
    """A body whose declared length exceeds the limit is not transferred."""
    visitor = Fetcher(AddressGuard([web.allow]), FetchLimits(10.0, 100), CrawlPolicy(min_interval=0, obey_robots=False))
    with pytest.raises(UnusableResponse, match=r"larger than 0\.0001 MB"):
        await visitor.fetch(web.build_url(PATH))
    await visitor.aclose()


async def test_a_slow_transfer_times_out(web: Web) -> None:
    """A server that sends a byte now and then cannot exceed the time limit."""
    visitor = Fetcher(AddressGuard([web.allow]), FetchLimits(0.3), CrawlPolicy(min_interval=0, obey_robots=False))
    with pytest.raises(NoResponse, match=r"longer than 0\.3 s"):
        await visitor.fetch(web.build_url("/drip"))
    await visitor.aclose()


async def test_a_lost_connection_is_resumed(web: Web, visitor: Fetcher) -> None:
    """The next requests ask for the rest of the same version, and nothing is transferred twice."""
    page = await visitor.fetch(web.build_url("/broken"))
    ranges = [request.headers.get("range") for request in web.asked("/broken")]

    assert ranges == [None, "bytes=60000-", "bytes=120000-"]
    assert page.body.count(b"<p>") == 5_000
    assert page.transferred_bytes == len(page.body)
    assert {request.headers.get("if-range") for request in web.asked("/broken")[1:]} == {page.validators.etag}


async def test_a_changed_page_is_transferred_again(web: Web, visitor: Fetcher) -> None:
    """Parts of two versions are never combined."""
    page = await visitor.fetch(web.build_url("/changing"))

    assert page.body.startswith(b"<!doctype html>")
    assert page.body.count(b"<!doctype html>") == 1
    assert page.body.endswith(b"<!-- newer -->")
    assert page.transferred_bytes == len(page.body) + 60_000


@pytest.mark.parametrize("part", ["bytes 7-9/10", "nonsense", ""])
async def test_a_wrong_range_is_not_appended(part: str) -> None:
    """After a wrong range, the whole page is requested."""
    lies = [Reply(b"x" * 10, breaks_after=5), Reply(b"yyy", 206, {"content-range": part}), Reply(b"whole")]

    def answer(request: Request) -> Reply:
        return lies.pop(0)

    with Web(extra={"/": answer}) as lying:
        visitor = Fetcher(AddressGuard([lying.allow]), policy=CrawlPolicy(min_interval=0, obey_robots=False))
        page = await visitor.fetch(lying.build_url("/"))
        await visitor.aclose()

    assert page.body == b"whole"


@pytest.mark.parametrize("code", [206, 304, 300])
async def test_unexpected_responses_are_errors(code: int) -> None:
    """An unexpected range or confirmation, and unusual statuses, are reported."""
    answers = {"/": lambda request: Reply(b"part", code, {"content-range": "bytes 0-3/9"}, validated=False)}
    with Web(extra=answers) as odd:
        visitor = Fetcher(AddressGuard([odd.allow]), policy=CrawlPolicy(min_interval=0, obey_robots=False))
        with pytest.raises((UnusableResponse, ErrorStatus)):
            await visitor.fetch(odd.build_url("/"))
        await visitor.aclose()


async def test_retry_after_is_respected(web: Web, visitor: Fetcher) -> None:
    """A response with `Retry-After` is followed by another request at that time."""
    page = await visitor.fetch(web.build_url("/busy"))

    assert page.status_code == 200
    assert web.count("/busy") == 3


async def test_retries_are_limited() -> None:
    """After several requests, the status is an error."""
    busy = {"/": lambda request: Reply(b"", 503, {"retry-after": "0"})}
    with Web(extra=busy) as web:
        visitor = Fetcher(AddressGuard([web.allow]), policy=CrawlPolicy(min_interval=0, obey_robots=False))
        with pytest.raises(ErrorStatus, match="503"):
            await visitor.fetch(web.build_url("/"))
        await visitor.aclose()

        assert web.count("/") == MAX_ATTEMPTS


async def test_an_unreachable_server_is_reported() -> None:
    """A refused connection is not retried."""
    visitor = Fetcher(AddressGuard(["127.0.0.1:9"]), policy=CrawlPolicy(min_interval=0))
    with pytest.raises(NoResponse, match="unreachable"):
        await visitor.fetch("http://127.0.0.1:9/")
    await visitor.aclose()


async def test_an_invalid_url_is_refused() -> None:
    """Nothing is sent for an invalid URL."""
    visitor = Fetcher(AddressGuard())
    with pytest.raises(RequestRefused, match="user name"):
        await visitor.fetch("http://user:secret@host.example/")
    await visitor.aclose()


async def test_robots_txt_may_redirect() -> None:
    """A redirect of robots.txt is followed, and a very long file is parsed up to its limit."""
    rules = b"User-agent: *\nDisallow: /secret\n" + b"# filling\n" * 100_000
    there = {
        "/robots.txt": lambda request: Reply(b"", 301, {"location": "/rules"}),
        "/rules": lambda request: Reply(rules, kind="text/plain"),
        "/open": lambda request: Reply(b"open"),
        "/secret": lambda request: Reply(b"secret"),
    }
    with Web(extra=there) as web:
        visitor = Fetcher(AddressGuard([web.allow]), policy=CrawlPolicy(min_interval=0))
        assert (await visitor.fetch(web.build_url("/open"))).body == b"open"
        with pytest.raises(RequestRefused, match="robots"):
            await visitor.fetch(web.build_url("/secret"))
        await visitor.aclose()

        assert (web.count("/rules"), web.count("/secret")) == (1, 0)


async def test_settings_configure_a_fetcher(web: Web) -> None:
    """Allowed hosts, lists, limits and crawl policy come from the settings."""
    settings = Settings(
        fetch_allow=(web.allow,),
        fetch_megabytes=0.0001,
        fetch_robots=False,
        fetch_user_agent="Reader",
        fetch_delay_seconds=0,
    )
    visitor = create_fetcher(settings)
    with pytest.raises(UnusableResponse, match="larger"):
        await visitor.fetch(web.build_url("/private/keeper"))
    await visitor.aclose()

    assert web.asked("/private/keeper")[-1].headers["user-agent"] == "Reader"
    with pytest.raises(ValueError, match="TENURE_FETCH_ALLOW"):
        create_fetcher(Settings(fetch_allow=("no host",)))


def test_content_type_is_parsed() -> None:
    """Media type and charset are separated, and invalid values are ignored."""
    told = httpx.Headers({"content-type": 'Text/HTML; Charset="ISO-8859-1"; x=y'})

    assert (parse_media_type(told), parse_charset(told)) == ("text/html", "iso-8859-1")
    for nothing in ({}, {"content-type": ""}, {"content-type": ";;"}):
        assert (parse_media_type(httpx.Headers(nothing)), parse_charset(httpx.Headers(nothing))) == ("", "")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"cache-control": "public"}, None),
        ({"cache-control": "public, max-age=60"}, 60.0),
        ({"cache-control": "max-age=60", "age": "45"}, 15.0),
        ({"cache-control": "max-age=60", "age": "old"}, 60.0),
        ({"cache-control": "max-age=60", "age": "90"}, 0.0),
        ({"cache-control": "max-age=60, no-cache"}, 0.0),
        ({"cache-control": "No-Store"}, 0.0),
    ],
)
def test_max_age_is_parsed(headers: dict[str, str], seconds: float | None) -> None:
    """The age of a response is subtracted, and `no-store` means no lifetime."""
    assert parse_max_age(httpx.Headers(headers)) == seconds


def test_retry_after_is_parsed() -> None:
    """Seconds and dates are supported; an invalid value means the default."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100))
    past = format_datetime(datetime.now(UTC) - timedelta(days=1))

    assert parse_retry_after(httpx.Headers({"retry-after": "7"}), 2.0) == 7.0
    assert 80 < parse_retry_after(httpx.Headers({"retry-after": soon}), 2.0) <= 100
    assert parse_retry_after(httpx.Headers({"retry-after": past}), 2.0) == 0.0
    for nothing in ({}, {"retry-after": "soon"}, {"retry-after": ""}):
        assert parse_retry_after(httpx.Headers(nothing), 2.0) == 2.0
