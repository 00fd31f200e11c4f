"""Fetch pages under an SSRF guard, robots.txt and rate limits, with limits of time, size and redirects.

Redirects are followed hop by hop: the URL of each hop is checked, the robots.txt of its site is read, and the rate
limit of its host applies. No cookies are stored and no credentials are sent, so none can leak to another host.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpcore
import httpx

from tenure.algorithms.text.urls import InvalidUrlError, canonicalize_url, parse_url, resolve_url
from tenure.settings.web import FetchSettings
from tenure.sources.fetch import robots
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.errors import ErrorStatus, NoResponse, RequestRefused, UnusableResponse
from tenure.sources.fetch.rate_limits import HostRateLimiter
from tenure.sources.fetch.robots import RobotsCache
from tenure.sources.fetch.transfer import (
    ConnectionLost,
    Transfer,
    Validators,
    build_request_headers,
    parse_charset,
    parse_max_age,
    parse_media_type,
    parse_retry_after,
)
from tenure.sources.fetch.transport import GuardedConnections

MAX_REDIRECTS: Final = 8
MAX_ATTEMPTS: Final = 5
"""Maximum number of requests for one URL, if connections are lost or the host asks for a retry."""

_REDIRECT_STATUSES: Final = (301, 302, 303, 307, 308)
_RETRY_STATUSES: Final = (429, 503)
_DEFAULT_RETRY_SECONDS: Final = 2.0
"""Delay before a retry without a `Retry-After` header."""
_MAX_RETRY_AFTER_SECONDS: Final = 3_600.0
"""Maximum delay that a `Retry-After` header can impose."""


@dataclass(frozen=True)
class FetchLimits:
    """Limits of one page."""

    timeout_seconds: float = 30.0
    """Maximum time of the transfer, including redirects and retries."""
    max_bytes: int = 20_000_000
    """Maximum size of the decompressed body."""


_ROBOTS_LIMITS: Final = FetchLimits(10.0, robots.MAX_ROBOTS_BYTES)


@dataclass(frozen=True)
class CrawlPolicy:
    """Rules for requests to hosts."""

    user_agent: str = "Tenure"
    obey_robots: bool = True
    max_concurrent: int = 16
    max_per_host: int = 2
    """Maximum number of concurrent requests to one host."""
    min_interval: float = 0.5
    """Minimum time in seconds between the starts of two requests to one host."""
    max_wait: float = 30.0
    """Maximum time in seconds that a request waits for the rate limit of its host."""


@dataclass(frozen=True)
class FetchedResponse:
    """Response to a page request, after redirects."""

    redirect_chain: tuple[str, ...]
    """Canonical URLs from the requested one to the final one."""
    status_code: int
    not_modified: bool
    """Whether the server confirmed the stored copy (304); the body is empty then."""
    media_type: str
    """Media type such as `text/html`; empty if the server declares none."""
    charset: str
    """Character encoding that the header declares; empty if it declares none."""
    validators: Validators
    max_age: float | None
    """Freshness lifetime in seconds; None if the server declares none."""
    body: bytes
    """Decompressed body."""
    transferred_bytes: int
    """Number of body bytes transferred over the network."""

    @property
    def url(self) -> str:
        """Canonical URL of the page, after redirects."""
        return self.redirect_chain[-1]


UrlRule = Callable[[str], str]
"""Rule that returns the reason why a URL may not be requested; empty if it may."""


def permit_every_url(url: str) -> str:
    """Return an empty text: the rule that every URL keeps."""
    return ""


class Fetcher:
    """Client that fetches web pages; it belongs to one event loop."""

    def __init__(
        self, guard: AddressGuard, limits: FetchLimits = FetchLimits(), policy: CrawlPolicy = CrawlPolicy()
    ) -> None:
        self._limits = limits
        self._connections = GuardedConnections(guard, policy.max_concurrent)
        self._headers = build_request_headers(policy.user_agent)
        self._rate_limiter = HostRateLimiter(policy.max_per_host, policy.min_interval, policy.max_wait)
        self._slots = asyncio.Semaphore(policy.max_concurrent)
        self._robots = RobotsCache(self._load_robots, policy.user_agent) if policy.obey_robots else None

    async def fetch(
        self, url: str, known: Mapping[str, Validators] | None = None, find_violation: UrlRule = permit_every_url
    ) -> FetchedResponse:
        """Fetch a page.

        Args:
            url: URL of the page.
            known: validators of stored copies, by canonical URL.
            find_violation: rule for the URL and for every URL that it redirects to; it is checked before the request.

        Raises:
            FetchError: the page cannot be fetched.
        """
        return await self._follow_redirects(_canonicalize(url), known or {}, self._limits, find_violation)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connections.aclose()

    async def _load_robots(self, url: str) -> bytes:
        """Load the robots.txt of a site; no robots.txt applies to this request."""
        return (await self._follow_redirects(url, {}, _ROBOTS_LIMITS, for_robots=True)).body

    async def _follow_redirects(
        self,
        url: str,
        known: Mapping[str, Validators],
        limits: FetchLimits,
        find_violation: UrlRule = permit_every_url,
        *,
        for_robots: bool = False,
    ) -> FetchedResponse:
        deadline = _Deadline(limits.timeout_seconds)
        hops = [url]
        transferred = 0
        while True:
            if problem := find_violation(hops[-1]):
                raise RequestRefused(problem if len(hops) == 1 else f"it redirects to another page: {problem}")
            delay = await self._robots.get_crawl_delay(hops[-1]) if self._robots and not for_robots else 0.0
            transfer = Transfer(known.get(hops[-1]), limits.max_bytes, truncate=for_robots)
            await self._request_until_complete(hops[-1], transfer, deadline, delay)
            transferred += transfer.received
            if transfer.status_code not in _REDIRECT_STATUSES:
                return _build_response(tuple(hops), transfer, transferred)
            hops.append(_resolve_redirect(hops, transfer.headers))

    async def _request_until_complete(self, url: str, transfer: Transfer, deadline: "_Deadline", delay: float) -> None:
        host = parse_url(url).host
        for remaining in reversed(range(MAX_ATTEMPTS)):
            try:
                async with self._rate_limiter.acquire(host, delay), self._slots, deadline.running():
                    await self._request(url, transfer)
            except ConnectionLost as error:
                if not remaining:
                    raise NoResponse(str(error)) from error
                continue
            if transfer.status_code not in _RETRY_STATUSES:
                return
            self._rate_limiter.block(
                host, min(parse_retry_after(transfer.headers, _DEFAULT_RETRY_SECONDS), _MAX_RETRY_AFTER_SECONDS)
            )

    async def _request(self, url: str, transfer: Transfer) -> None:
        try:
            async with self._connections.get(url, self._headers | transfer.build_request_headers()) as response:
                await transfer.receive(response)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise NoResponse(f"its server is unreachable{_format_cause(error)}") from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise ConnectionLost(f"the connection was lost{_format_cause(error)}") from error


class _Deadline:
    """Remaining time of one page; waiting for a rate limit does not count."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Count the time of the block, and cancel it at the deadline."""
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            async with asyncio.timeout(self._left):
                yield
        except TimeoutError:
            raise NoResponse(f"its transfer takes longer than {self._seconds:g} s") from None
        finally:
            self._left -= clock() - start


def _canonicalize(url: str) -> str:
    try:
        return canonicalize_url(url)
    except InvalidUrlError as error:
        raise RequestRefused(str(error)) from None


def _resolve_redirect(hops: list[str], headers: httpx.Headers) -> str:
    location = headers.get("location", "")
    if not location:
        raise UnusableResponse("it redirects without a target")
    try:
        target = resolve_url(hops[-1], location)
    except InvalidUrlError as error:
        raise RequestRefused(f"it redirects to an invalid URL: {error.reason}") from None
    if target in hops:
        raise UnusableResponse("it redirects in a loop")
    if len(hops) > MAX_REDIRECTS:
        raise UnusableResponse(f"it redirects more than {MAX_REDIRECTS} times")
    return target


def _build_response(hops: tuple[str, ...], transfer: Transfer, transferred: int) -> FetchedResponse:
    if not transfer.is_not_modified and not HTTPStatus(200) <= transfer.status_code < HTTPStatus(300):
        raise ErrorStatus(transfer.status_code)
    headers = transfer.headers
    return FetchedResponse(
        redirect_chain=hops,
        status_code=transfer.status_code,
        not_modified=transfer.is_not_modified,
        media_type=parse_media_type(headers),
        charset=parse_charset(headers),
        validators=Validators(headers.get("etag", ""), headers.get("last-modified", "")),
        max_age=parse_max_age(headers),
        body=b"" if transfer.is_not_modified else transfer.get_content(),
        transferred_bytes=transferred,
    )


def _format_cause(error: Exception) -> str:
    cause = " ".join(str(error).split())[:200]
    return f" ({cause})" if cause else ""


def create_fetcher(settings: FetchSettings) -> Fetcher:
    """Return the fetcher that the settings configure."""
    return Fetcher(
        AddressGuard(settings.fetch_allow, settings.fetch_domains, settings.fetch_deny),
        FetchLimits(settings.fetch_seconds, int(settings.fetch_megabytes * 1e6)),
        CrawlPolicy(
            user_agent=settings.fetch_user_agent,
            obey_robots=settings.fetch_robots,
            max_per_host=settings.fetch_per_host,
            min_interval=settings.fetch_delay_seconds,
        ),
    )
